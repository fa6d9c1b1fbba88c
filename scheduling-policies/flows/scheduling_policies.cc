// SPDX-License-Identifier: Apache-2.0
// The API server's view of scheduling policies: the CRDs refuse what the code refuses, the code
// refuses what would refuse a pod, and the API server accepts every pod that policies were merged
// into.
#include <random>

#include "scheduling-policies/flows/policy_flow.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/testing/specs.h"
#include "scheduling-policies/testing/words.h"

namespace e2e {
namespace {

using kube::Result;
using policy::kClusterPodSchedulingPolicies;
using policy::kPodSchedulingPolicies;

class SchedulingPoliciesFlow : public PolicyFlow {
 protected:
  Json PodWith(const Json& scheduling) {
    // The label of a matchLabelKeys in the table: the API server refuses it only for such a pod.
    Json pod = MakePod("p").Image("none").Label("k", "v").Build();
    pod["spec"].update(scheduling);
    return pod;
  }
};

TEST_F(SchedulingPoliciesFlow, WrongPoliciesAreRefusedWithAndWithoutTheWebhook) {
  Result<Resource> without_webhook = ServeWithoutWebhook(kClusterPodSchedulingPolicies);
  ASSERT_TRUE(without_webhook) << without_webhook.error();
  for (const policy::WrongSpec& wrong : policy::WrongSpecs()) {
    Json policy = ClusterPolicy(wrong.spec);
    Result<> created = DryRun(kClusterPodSchedulingPolicies, policy);
    EXPECT_TRUE(kube::FailedWith(created, kube::Code::kInvalid)) << "policy " << wrong.spec;
    if (!created && !wrong.by_crd) {
      EXPECT_NE(created.error().message().find("validate-clusterpodschedulingpolicy"),
                std::string::npos);
      EXPECT_NE(created.error().message().find(wrong.field), std::string::npos);
      EXPECT_NE(created.error().message().find(wrong.message), std::string::npos);
    }
    bool refused = kube::FailedWith(DryRun(*without_webhook, policy), kube::Code::kInvalid);
    EXPECT_EQ(refused, wrong.by_crd) << "policy " << wrong.spec;
    if (!wrong.in_pod) continue;
    EXPECT_TRUE(kube::FailedWith(DryRun(kPods, PodWith(kube::MustParseJson(wrong.spec))),
                                 kube::Code::kInvalid))
        << "pod " << wrong.spec;
  }
  for (const std::string& right : policy::RightSpecs()) {
    Result<> created = DryRun(kClusterPodSchedulingPolicies, ClusterPolicy(right));
    EXPECT_TRUE(created) << right << ": " << created.error();
    created = DryRun(kPods, PodWith(kube::MustParseJson(right)));
    EXPECT_TRUE(created) << "pod " << right << ": " << created.error();
  }
}

TEST_F(SchedulingPoliciesFlow, UnknownFieldsArePrunedAndEverythingIsOptional) {
  Json policy = ClusterPolicy(R"({"foo": "bar", "podSelector": {}})");
  Flow(scene(), "a policy with an unknown field").Do(Create(kClusterPodSchedulingPolicies, policy));
  auto stored = scene().Get(kClusterPodSchedulingPolicies, "p");
  ASSERT_TRUE(stored) << stored.error();
  EXPECT_EQ((*stored)["spec"], kube::MustParseJson(R"({"podSelector": {}})"));
  policy.erase("spec");
  policy["metadata"]["name"] = "q";
  Flow(scene(), "a policy without a spec").Do(Create(kClusterPodSchedulingPolicies, policy));
}

TEST_F(SchedulingPoliciesFlow, EveryMergedPodIsAccepted) {
  std::mt19937 random(20261122);
  for (int pair = 0; pair < 500; ++pair) {
    std::string pod_words = policy::RandomPod(random);
    std::vector<policy::SchedulingPolicy> policies;
    std::string all_words = pod_words;
    for (const char* name : {"C-a", "C-b", "N-a"}) {
      std::string words = policy::RandomPolicy(random, name);
      policies.push_back(policy::PolicyOf(words));
      all_words += " + " + words;
      if (pair % 10 != 0) continue;
      // The CRDs accept what was stored, and lose nothing of it.
      Json json = policy::PolicyJson(words);
      json["metadata"].erase("namespace");
      Result<> created = DryRun(
          policies.back().of_cluster() ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies,
          json);
      EXPECT_TRUE(created) << words << ": " << created.error();
    }
    const policy::SchedulingPolicy* pointers[] = {&policies[0], &policies[1], &policies[2]};
    Json pod = PodWith(policy::SpecOf(pod_words));
    auto merged = policy::Merge(pod["spec"], "/spec", pointers);
    ASSERT_TRUE(merged) << merged.error();
    Result<> created = DryRun(kPods, policy::Patched(pod, merged->patch));
    EXPECT_TRUE(created) << all_words << ": " << created.error();
  }
}

}  // namespace
}  // namespace e2e
