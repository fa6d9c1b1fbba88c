// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling-policies/testing/words.h"

namespace policy {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

placement::Labels LabelsFrom(const std::map<std::string, std::string>& map) {
  placement::Labels labels;
  for (const auto& [key, value] : map) labels[key] = value;
  return labels;
}

SchedulingPolicy Parse(const Json& json, Scope scope) {
  return *SchedulingPolicy::FromJson(json, scope);
}

// A policy with the criterion k:v; `selectors` are merged into its spec.
SchedulingPolicy Make(const std::string& name, const char* selectors) {
  Json json = PolicyJson(name + " k:v");
  json["spec"].merge_patch(kube::MustParseJson(selectors));
  return Parse(json, name[0] == 'C' ? Scope::kCluster : Scope::kNamespace);
}

class IndexTest : public ::testing::Test {
 protected:
  std::vector<std::string> NamesFor(const std::string& ns,
                                    const std::map<std::string, std::string>& labels) {
    auto selected = index_.For(ns, LabelsFrom(labels));
    EXPECT_TRUE(selected) << selected.error();
    std::vector<std::string> names;
    if (!selected) return names;
    for (const SchedulingPolicy* policy : selected->policies) {
      names.push_back((policy->of_cluster() ? "C-" : "N-") + policy->name);
    }
    return names;
  }

  Index index_;
};

TEST_F(IndexTest, ClusterPoliciesComeFirstThenNames) {
  index_.PutNamespace("shop", {});
  for (const char* name : {"N-b", "C-z", "N-a", "C-y"}) index_.Put(Make(name, "{}"));
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("C-y", "C-z", "N-a", "N-b"));
  index_.PutNamespace("other", {});
  EXPECT_THAT(NamesFor("other", {}), ElementsAre("C-y", "C-z"));
}

TEST_F(IndexTest, SelectorsDecide) {
  index_.PutNamespace("shop", LabelsFrom({{"env", "dev"}}));
  index_.Put(Make("C-prod", R"({"namespaceSelector": {"matchLabels": {"env": "prod"}}})"));
  index_.Put(Make("C-all", "{}"));
  index_.Put(Make("C-nowhere", R"({"namespaceSelector": null})"));
  index_.Put(Make("N-none", R"({"podSelector": null})"));
  index_.Put(Make("N-db", R"({"podSelector": {"matchLabels": {"app": "db"}}})"));
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("C-all"));
  EXPECT_THAT(NamesFor("shop", {{"app", "db"}}), ElementsAre("C-all", "N-db"));
  index_.PutNamespace("shop", LabelsFrom({{"env", "prod"}}));
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("C-all", "C-prod"));
}

TEST_F(IndexTest, ChangesAreInForceAtOnce) {
  index_.PutNamespace("shop", {});
  index_.Put(Make("C-a", "{}"));
  index_.Put(Make("N-a", "{}"));
  index_.Put(Make("C-a", R"({"podSelector": {"matchLabels": {"app": "db"}}})"));
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("N-a"));
  EXPECT_THAT(NamesFor("shop", {{"app", "db"}}), ElementsAre("C-a", "N-a"));
  // A policy that becomes invalid is out of force.
  index_.Put(Make("N-a", R"({"nodeName": "Not valid"})"));
  index_.Remove(Scope::kCluster, "", "a");
  EXPECT_THAT(NamesFor("shop", {{"app", "db"}}), IsEmpty());
  EXPECT_TRUE(index_.empty());
  index_.Remove(Scope::kNamespace, "shop", "a");
  index_.Remove(Scope::kNamespace, "nowhere", "a");
}

// Example 9.
TEST_F(IndexTest, ABadPolicyIsSkippedAlone) {
  index_.PutNamespace("shop", {});
  index_.Put(Make("N-bad", R"({"podSelector": {"matchExpressions":
                                  [{"key": "a", "operator": "Near"}]}})"));
  index_.Put(Make("N-good", "{}"));
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("N-good"));
}

// An unknown namespace matters only to cluster policies.
TEST_F(IndexTest, UnknownNamespacesAreSaidToBeUnknown) {
  index_.Put(Make("N-a", "{}"));
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("N-a"));
  index_.Put(Make("C-a", "{}"));
  EXPECT_TRUE(kube::FailedWith(index_.For("shop", {}), kube::Code::kNotFound));
  EXPECT_EQ(index_.LabelsOf("shop"), nullptr);
  index_.PutNamespace("shop", LabelsFrom({{"env", "dev"}}));
  ASSERT_NE(index_.LabelsOf("shop"), nullptr);
  EXPECT_EQ(index_.LabelsOf("shop")->at("env"), "dev");
  EXPECT_THAT(NamesFor("shop", {}), ElementsAre("C-a", "N-a"));
  index_.RemoveNamespace("shop");
  EXPECT_TRUE(kube::IsNotFound(index_.For("shop", {})));
}

// 2,000 policies in 500 namespaces: a review looks at the four of its namespace, and at the cluster
// policies that select it.
TEST_F(IndexTest, AReviewLooksOnlyAtPoliciesOfItsNamespace) {
  for (int ns = 0; ns < 500; ++ns) {
    std::string name = "ns-" + std::to_string(ns);
    index_.PutNamespace(name, LabelsFrom({{"number", std::to_string(ns)}}));
    for (int i = 0; i < 4; ++i) {
      SchedulingPolicy policy = Make("N-" + std::to_string(i), "{}");
      policy.ns = name;
      index_.Put(std::move(policy));
    }
  }
  for (int i = 0; i < 500; ++i) {
    Json selector = {{"namespaceSelector", {{"matchLabels", {{"number", std::to_string(i)}}}}}};
    index_.Put(Make("C-" + std::to_string(i), kube::DumpJson(selector).c_str()));
  }
  auto selected = index_.For("ns-77", LabelsFrom({{"app", "web"}}));
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->compared, 5u);
  EXPECT_EQ(selected->policies.size(), 5u);
}

TEST_F(IndexTest, WhetherAPolicyMaySelectPodsOfANamespace) {
  EXPECT_FALSE(index_.MaySelect("shop", {}));
  index_.Put(PolicyOf("N-a k:v"));
  EXPECT_TRUE(index_.MaySelect("shop", {}));
  EXPECT_FALSE(index_.MaySelect("other", {}));
  index_.Put(PolicyOf("C-c k:v"));
  EXPECT_TRUE(index_.MaySelect("other", {}));
}

}  // namespace
}  // namespace policy
