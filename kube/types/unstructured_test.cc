// SPDX-License-Identifier: Apache-2.0
#include "kube/types/unstructured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base/error.h"
#include "kube/testing/matchers.h"

namespace kube {
namespace {

using ::testing::HasSubstr;

TEST(JsonTest, DumpsOnOneLineAndPrettyOnMany) {
  Json json = {{"a", 1}, {"b", {"x"}}};
  EXPECT_EQ(DumpJson(json), R"({"a":1,"b":["x"]})");
  EXPECT_EQ(PrettyJson(json), "{\n  \"a\": 1,\n  \"b\": [\n    \"x\"\n  ]\n}");
}

TEST(JsonTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(DumpJson("a\xff"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(PrettyJson("a\xff"), "\"a\xEF\xBF\xBD\"");
}

TEST(JsonTest, PacksAndUnpacks) {
  Json json = {{"metadata", {{"name", "web"}}}, {"list", {1, 2.5, nullptr, true}}};
  Result<Json> unpacked = UnpackJson(PackJson(json));
  ASSERT_THAT(unpacked, IsOk());
  EXPECT_EQ(*unpacked, json);
  std::string packed = PackJson(json);
  EXPECT_THAT(UnpackJson(packed.substr(1)), FailsWith(Code::kInvalid));
  EXPECT_THAT(UnpackJson(packed + "x"), FailsWith(Code::kInvalid));
  EXPECT_THAT(UnpackJson(""), FailsWith(Code::kInvalid));
}

// Managed fields of a user's object look like this. With work that grows with the square of their
// number, this test would not end within its time.
TEST(JsonTest, ManySiblingsCostAsMuchAsTheirText) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"f:" + std::to_string(i) + "\":{},";
  text.back() = '}';
  Result<Json> json = ParseJson(text);
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(json->size(), 200'000u);
}

TEST(JsonTest, BracketsInStringsAreNoNesting) {
  EXPECT_THAT(ParseJson("[\"" + std::string(300, '[') + "\\\"[\"]"), IsOk());
}

TEST(JsonTest, RefusesMalformedAndDeepText) {
  EXPECT_THAT(ParseJson("{"), FailsWith(Code::kInvalid));
  EXPECT_THAT(ParseJson("\"\xff\""), FailsWith(Code::kInvalid));
  EXPECT_THAT(ParseJson(std::string(300, '[') + std::string(300, ']')),
              FailsWith(Code::kInvalid, HasSubstr("nested deeper than 200")));
}

TEST(JsonDeathTest, MustParseEndsTheProcess) {
  EXPECT_EQ(MustParseJson("[1]"), Json::array({1}));
  EXPECT_DEATH(MustParseJson("[1"), "not valid JSON: \\[1");
}

}  // namespace
}  // namespace kube
