// SPDX-License-Identifier: Apache-2.0
#include "api/label_selector.h"

#include <gtest/gtest.h>

namespace api {
namespace {

TEST(LabelSelectorTest, KnowsLabelKeys) {
  std::string longest(63, 'a');
  for (const std::string& key :
       {std::string("a"), std::string("A.b_c-9"), std::string("example.com/app"), longest,
        std::string("kubernetes.io/arch"), std::string("x-y.z0/") + longest}) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("-a"), std::string("a-"), std::string("a b"), std::string("/a"),
        std::string("a/"), std::string("a/b/c"), std::string("Example.com/a"),
        std::string("a..b/c"), std::string(".a/c"), std::string("a./c"), std::string("-a.b/c"),
        longest + "a", std::string(254, 'a') + "/b", std::string("é")}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
}

TEST(LabelSelectorTest, KnowsLabelValues) {
  for (const char* value : {"", "a", "1.2_3-4"}) EXPECT_TRUE(IsLabelValue(value)) << value;
  for (const char* value : {"-", "a/b", "a b", ".a"}) EXPECT_FALSE(IsLabelValue(value)) << value;
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
}

TEST(LabelSelectorTest, RoundTrips) {
  kube::Json json = kube::MustParseJson(R"({"matchLabels": {"a": "b", "c": ""},
      "matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["x", "y"]}, {"key": "l", "operator": "Exists"}]})");
  FieldErrors problems;
  kube::meta::LabelSelector selector = LabelSelectorFromJson(json, "s", problems);
  ValidateLabelSelector(selector, "s", problems);
  EXPECT_EQ(Describe(problems), "");
  EXPECT_EQ(LabelSelectorToJson(selector), json);
}

TEST(LabelSelectorTest, AsTheTextOfAQuery) {
  kube::meta::LabelSelector selector;
  EXPECT_EQ(LabelSelectorToText(selector), "");
  (*selector.mutable_match_labels())["b"] = "2";
  (*selector.mutable_match_labels())["a"] = "1";
  auto add = [&](const char* key, const char* op, std::initializer_list<const char*> values) {
    auto* requirement = selector.add_match_expressions();
    requirement->set_key(key);
    requirement->set_operator_(op);
    for (const char* value : values) requirement->add_values(value);
  };
  add("c", "In", {"x", "y"});
  add("d", "NotIn", {"z"});
  add("e", "Exists", {});
  add("f", "DoesNotExist", {});
  EXPECT_EQ(LabelSelectorToText(selector), "a=1,b=2,c in (x,y),d notin (z),e,!f");
}

TEST(LabelSelectorTest, RefusesBadLabels) {
  FieldErrors problems;
  kube::meta::LabelSelector selector = LabelSelectorFromJson(
      kube::MustParseJson(
          R"({"matchLabels": {"a b": "c"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["-"]}]})"),
      "s", problems);
  ValidateLabelSelector(selector, "s", problems);
  EXPECT_EQ(
      Describe(problems),
      "s.matchLabels: \"a b\" is not a valid label key; s.matchExpressions[0].values: \"-\" is not "
      "a valid label value");
}

// Conditions of objects show these messages.
TEST(LabelSelectorTest, ReportsBadLabelsInTheOrderOfTheirKeys) {
  kube::meta::LabelSelector selector;
  for (const char* key : {"d", "b", "h", "a", "f", "c", "g", "e"})
    (*selector.mutable_match_labels())[key] = "-";
  for (int i = 0; i < 5; ++i) {
    FieldErrors problems;
    ValidateLabelSelector(kube::meta::LabelSelector(selector), "s", problems);
    std::string keys;
    for (const FieldError& problem : problems) keys += problem.field.back();
    EXPECT_EQ(keys, "abcdefgh");
  }
}

// Above the limit of problems, the same ones are reported.
TEST(LabelSelectorTest, OfManyBadLabelsTheFirstAreReported) {
  kube::meta::LabelSelector selector;
  for (char key = 'a'; key <= 'z'; ++key) (*selector.mutable_match_labels())[{key}] = "-";
  FieldErrors problems;
  ValidateLabelSelector(selector, "s", problems);
  ASSERT_LT(problems.size(), 26u);
  std::string keys;
  for (const FieldError& problem : problems) keys += problem.field.back();
  EXPECT_EQ(keys, std::string("abcdefghijklmnopqrstuvwxyz").substr(0, problems.size()));
}

}  // namespace
}  // namespace api
