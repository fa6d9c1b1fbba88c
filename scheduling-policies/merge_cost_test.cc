// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/merge_cost.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/testing/cost.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/testing/words.h"

namespace policy {
namespace {

// The policies of a test, in their order.
class Policies {
 public:
  void Add(const std::string& words, int times = 1) {
    for (int i = 0; i < times; ++i)
      policies_.push_back(std::make_unique<SchedulingPolicy>(PolicyOf(words)));
  }
  std::vector<const SchedulingPolicy*> all() const {
    std::vector<const SchedulingPolicy*> all;
    for (const auto& policy : policies_) all.push_back(policy.get());
    return all;
  }

 private:
  std::vector<std::unique_ptr<SchedulingPolicy>> policies_;
};

// "[a,b,x0][a,b,x1]...": `count` terms that differ in the last requirement.
std::string Terms(int count, const std::string& last) {
  std::string terms;
  for (int i = 0; i < count; ++i) terms += "[a,b,c,d,e,g,h," + last + std::to_string(i) + "]";
  return terms;
}

std::string Tolerations(int count, const std::string& key) {
  std::string words;
  for (int i = 0; i < count; ++i) words += " t(" + key + std::to_string(i) + "=v)";
  return words;
}

// The number of policies whose expensive part was skipped, as the warning says.
int SkippedPolicies(const Merged& merged) {
  if (merged.warnings.empty()) return 0;
  constexpr std::string_view kBefore = "required node affinity and tolerations of the last ";
  const std::string& text = merged.warnings.back();
  return text.starts_with(kBefore) ? std::stoi(text.substr(kBefore.size())) : 0;
}

TEST(MergeCostTest, UsualPoliciesCostLittle) {
  SchedulingPolicy policy = PolicyOf("N-one [d][e] P9[a] T(all) t(k=v) k:v");
  EXPECT_LT(ComparisonsFor(SpecOf("[a,b][c] t(k=v) t(l=v)"), policy.criteria), 100u);
  EXPECT_LT(ComparisonsFor(SpecOf("-"), policy.criteria), 10u);

  Policies policies;
  policies.Add("N-one [d][e] P9[a] T(all) t(k=v) k:v", 20);
  policies.Add("N-two [z:1|2,f:n1] t(k=v)", 50);
  policies.Add("N-large " + Terms(20, "x") + Tolerations(100, "t"));
  EXPECT_EQ(SkippedPolicies(*MergedSpec(SpecOf("[p,q][r] t(k=v)"), policies.all())), 0);
}

TEST(MergeCostTest, FieldsOfAWrongTypeCostNothing) {
  SchedulingPolicy policy = PolicyOf("N-a t(k=v)");
  kube::Json spec = {{"tolerations", 7}, {"affinity", kube::Json::array()}};
  EXPECT_EQ(ComparisonsFor(spec, policy.criteria), 0u);
}

// An owner of a namespace writes both the pod and the policies. Work is counted in comparisons that
// are known before, and in allocations: merging terms makes about two for each comparison, and a
// hundred times as many without the limit. Comparing tolerations makes none.
TEST(MergeCostTest, WhatIsTooExpensiveIsSkipped) {
  struct Case {
    const char* name;
    std::string pod;
    std::string policy;
    int times;
    int skipped;
  };
  for (const Case& c : {
           Case{"terms that are all compared", Terms(255, "y"), "N-a k:v " + Terms(100, "x"), 30,
                30},
           Case{"a large pod that many policies read", Terms(250, "y"), "N-a k:v [q]", 1000, 998},
           Case{"tolerations", Tolerations(1000, "y"), "N-a k:v" + Tolerations(20, "x"), 30, 28},
       }) {
    Policies policies;
    policies.Add(c.policy, c.times);
    kube::Json spec = SpecOf(c.pod);
    std::vector<const SchedulingPolicy*> all = policies.all();
    kube::Cost before = kube::CostOfThread();
    auto merged = MergedSpec(spec, all);
    int64_t allocations = (kube::CostOfThread() - before).allocations;
    ASSERT_TRUE(merged) << merged.error();
    EXPECT_EQ(SkippedPolicies(*merged), c.skipped) << c.name;
    EXPECT_LE(allocations, 3 * static_cast<int64_t>(kMaxComparisons)) << c.name;
    EXPECT_EQ(merged->spec["nodeSelector"], kube::Json({{"k", "v"}})) << c.name;

    auto again = MergedSpec(merged->spec, all);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->spec, merged->spec) << c.name;
  }
}

}  // namespace
}  // namespace policy
