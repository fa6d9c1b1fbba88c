// SPDX-License-Identifier: Apache-2.0
#include "placement/selector.h"

#include <gtest/gtest.h>

namespace placement {
namespace {

using kube::meta::LabelSelector;

LabelSelector Expression(std::string key, std::string op, std::vector<std::string> values = {}) {
  LabelSelector selector;
  auto& requirement = *selector.add_match_expressions();
  requirement.set_key(std::move(key));
  requirement.set_operator_(std::move(op));
  for (std::string& value : values) requirement.add_values(std::move(value));
  return selector;
}

TEST(SelectorTest, MatchesAsTheApiServerDoes) {
  Labels labels;
  labels["app"] = "web";
  labels["empty"] = "";
  struct Case {
    LabelSelector selector;
    bool matches;
  };
  const Case cases[] = {
      {LabelSelector(), true},
      {Expression("app", "In", {"api", "web"}), true},
      {Expression("app", "In", {"api"}), false},
      {Expression("gone", "In", {"web"}), false},
      {Expression("gone", "In", {""}), false},
      {Expression("empty", "In", {""}), true},
      {Expression("app", "NotIn", {"web"}), false},
      {Expression("app", "NotIn", {"api"}), true},
      {Expression("gone", "NotIn", {"web"}), true},
      {Expression("empty", "Exists"), true},
      {Expression("gone", "Exists"), false},
      {Expression("app", "DoesNotExist"), false},
      {Expression("gone", "DoesNotExist"), true},
  };
  for (const Case& c : cases) {
    auto matches = Matches(c.selector, labels);
    ASSERT_TRUE(matches);
    EXPECT_EQ(*matches, c.matches) << c.selector.SerializeAsString();
  }
}

TEST(SelectorTest, AllRequirementsMustHold) {
  Labels labels;
  labels["app"] = "web";
  LabelSelector selector = Expression("app", "Exists");
  (*selector.mutable_match_labels())["app"] = "web";
  EXPECT_EQ(Matches(selector, labels).value(), true);
  (*selector.mutable_match_labels())["tier"] = "front";
  EXPECT_EQ(Matches(selector, labels).value(), false);
}

TEST(SelectorTest, AnUnknownOperatorIsAnError) {
  for (const char* op : {"", "in", "Gt"}) {
    LabelSelector selector = Expression("app", op, {"1"});
    (*selector.mutable_match_labels())["other"] = "fails already";
    EXPECT_TRUE(kube::FailedWith(Matches(selector, {}), kube::Code::kInvalid)) << op;
  }
}

}  // namespace
}  // namespace placement
