// SPDX-License-Identifier: Apache-2.0
#include "kube/types/object_fields.h"

#include <gtest/gtest.h>

#include "kube/types/list_at.h"

namespace kube {
namespace {

// All fields are of wrong types.
const Json kWrong[] = {
    MustParseJson("7"), MustParseJson(R"({"metadata": 1, "status": []})"),
    MustParseJson(R"({"metadata": {"finalizers": {}, "ownerReferences": "a"},
                      "status": {"conditions": {"Ready": true}}})"),
    MustParseJson(R"({"metadata": {"finalizers": [1, null], "ownerReferences": [1, {}]},
                      "status": {"conditions": [7, {"type": 7}]}})")};

TEST(ListAtTest, WhatIsNoListOrMapIsAnEmptyOne) {
  Json object = MustParseJson(R"({"a": {"list": [1, 2], "map": {"k": "v"}}})");
  EXPECT_EQ(ListAt(object, "a.list"), Json::array({1, 2}));
  EXPECT_EQ(ObjectAt(object, "a.map"), (Json{{"k", "v"}}));
  for (const char* path : {"a.map", "a.none", "a.list.x"})
    EXPECT_EQ(ListAt(object, path), Json::array()) << path;
  for (const char* path : {"a.list", "a.none", "a.map.k"})
    EXPECT_EQ(ObjectAt(object, path), Json::object()) << path;
}

TEST(FinalizersTest, PatchesKeepThoseOfOthers) {
  Json object =
      MustParseJson(R"({"metadata": {"resourceVersion": "5", "finalizers": ["a", "b"]}})");
  EXPECT_TRUE(HasFinalizer(object, "b"));
  EXPECT_FALSE(HasFinalizer(object, "c"));
  auto patch = [](Json finalizers) {
    return Json{{"metadata", {{"resourceVersion", "5"}, {"finalizers", std::move(finalizers)}}}};
  };
  EXPECT_EQ(WithFinalizer(object, "c"), patch({"a", "b", "c"}));
  EXPECT_EQ(WithFinalizer(object, "a"), patch({"a", "b"}));
  EXPECT_EQ(WithoutFinalizer(object, "a"), patch(Json::array({"b"})));
  EXPECT_EQ(WithoutFinalizer(object, "c"), patch({"a", "b"}));
}

TEST(FinalizersTest, AnObjectMayHaveNone) {
  for (const Json& object : {Json::object(), kWrong[0], kWrong[1], kWrong[2]}) {
    EXPECT_FALSE(HasFinalizer(object, "a")) << object;
    EXPECT_EQ(WithFinalizer(object, "a")["metadata"]["finalizers"], Json::array({"a"})) << object;
    EXPECT_EQ(WithoutFinalizer(object, "a")["metadata"]["finalizers"], Json::array()) << object;
  }
}

TEST(ControllerOfTest, IsTheOwnerThatControls) {
  Json object = MustParseJson(R"({"metadata": {"ownerReferences":
      [{"uid": "a"}, {"uid": "b", "controller": false}, {"uid": "c", "controller": true}]}})");
  ASSERT_NE(ControllerOf(object), nullptr);
  EXPECT_EQ(StringAt(*ControllerOf(object), "uid"), "c");
  for (const Json& wrong : kWrong) EXPECT_EQ(ControllerOf(wrong), nullptr) << wrong;
}

TEST(ConditionOfTest, IsThatOfTheType) {
  Json object = MustParseJson(R"({"status": {"conditions": [7, {"type": "A"},
      {"type": "Ready", "status": "True", "reason": "R"}, {"type": "Ready", "status": "False"}]}})");
  ASSERT_NE(ConditionOf(object, "Ready"), nullptr);
  EXPECT_EQ(StringAt(*ConditionOf(object, "Ready"), "reason"), "R");
  EXPECT_EQ(ConditionStatus(object, "Ready"), "True");
  EXPECT_EQ(ConditionStatus(object, "A"), "");
  EXPECT_EQ(ConditionOf(object, "B"), nullptr);
  for (const Json& wrong : kWrong) EXPECT_EQ(ConditionStatus(wrong, "Ready"), "") << wrong;
}

}  // namespace
}  // namespace kube
