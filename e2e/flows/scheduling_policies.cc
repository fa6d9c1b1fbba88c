// SPDX-License-Identifier: Apache-2.0
// The API server's view of scheduling policies, which no program serves yet: the CRDs refuse what
// the code refuses, the code refuses what would refuse a pod, and the API server accepts every pod
// that policies were merged into.
#include <fstream>
#include <random>
#include <sstream>

#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"
#include "kube/types/kinds.h"
#include "policy/merge.h"
#include "policy/scheduling_policy.h"
#include "policy/testing/specs.h"
#include "policy/testing/words.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;
using policy::kClusterPodSchedulingPolicies;
using policy::kPodSchedulingPolicies;

constexpr const Resource* kKinds[] = {&kPodSchedulingPolicies, &kClusterPodSchedulingPolicies};

Result<Json> LoadCrd(const Resource& kind) {
  std::ifstream file("policy/crds/" + std::string(kind.plural) + ".yaml");
  std::stringstream text;
  text << file.rdbuf();
  auto documents = kube::ParseYamlDocuments(text.str());
  if (!documents) return documents.error();
  if (documents->size() != 1) return Error::NotFound("CRD of " + std::string(kind.plural));
  return documents->front();
}

// Whether the kind can be listed.
Condition IsServed(const Resource& kind, bool served) {
  return {.name = std::string(kind.plural) + (served ? " are served" : " are not served"),
          .holds = [kind, served](Scene& scene) -> Result<> {
            Result<std::vector<Json>> list = scene.List(kind);
            if (list.has_value() == served) return Ok();
            return list ? Error::Internal("they are") : list.error();
          }};
}

class SchedulingPoliciesFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    // Without the operator's gate, and without its work on the pods.
    Flow flow(scene(), "scheduling policies are installed");
    flow.Do(Change(kNamespaces, scene().ns(), {{"metadata", {{"labels", {{kSceneLabel, "no"}}}}}}));
    for (const Resource* kind : kKinds) {
      Result<Json> crd = LoadCrd(*kind);
      ASSERT_TRUE(crd) << crd.error();
      flow.Do(Create(kube::kCustomResourceDefinitions, *crd)).Await(IsServed(*kind, true));
    }
  }
  void TearDown() override {
    Flow flow(scene(), "scheduling policies are removed");
    for (const Resource* kind : kKinds) {
      flow.Do(Delete(kube::kCustomResourceDefinitions,
                     std::string(kind->plural) + "." + std::string(kind->group)))
          .Await(IsServed(*kind, false));
    }
    FlowFixture::TearDown();
  }

  Result<> DryRun(const Resource& kind, const Json& object) {
    std::string ns = kind.namespaced ? scene().ns() : "";
    kube::ApiRequest request{.method = kube::Method::kPost,
                             .target = kind.Path(ns) + "?dryRun=All",
                             .content_type = std::string(kube::kJson),
                             .body = object.dump()};
    auto answer = cluster().Run(cluster().client().Call(std::move(request)));
    if (!answer) return answer.error();
    return Ok();
  }

  Json Policy(const std::string& spec) {
    Json policy = policy::PolicyJson("C-p");
    policy["spec"] = Json::parse(spec);
    return policy;
  }
  Json PodWith(const Json& scheduling) {
    // The label of a matchLabelKeys in the table: the API server refuses it only for such a pod.
    Json pod = MakePod("p").Image("none").Label("k", "v").Build();
    pod["spec"].update(scheduling);
    return pod;
  }
};

TEST_F(SchedulingPoliciesFlow, WrongPoliciesAreRefusedWithoutAProgram) {
  for (const policy::WrongSpec& wrong : policy::WrongSpecs()) {
    bool refused = kube::FailedWith(DryRun(kClusterPodSchedulingPolicies, Policy(wrong.spec)),
                                    kube::Code::kInvalid);
    EXPECT_EQ(refused, wrong.by_crd) << "policy " << wrong.spec;
    if (!wrong.in_pod) continue;
    EXPECT_TRUE(
        kube::FailedWith(DryRun(kPods, PodWith(Json::parse(wrong.spec))), kube::Code::kInvalid))
        << "pod " << wrong.spec;
  }
  for (const std::string& right : policy::RightSpecs()) {
    Result<> created = DryRun(kClusterPodSchedulingPolicies, Policy(right));
    EXPECT_TRUE(created) << right << ": " << created.error();
    created = DryRun(kPods, PodWith(Json::parse(right)));
    EXPECT_TRUE(created) << "pod " << right << ": " << created.error();
  }
}

TEST_F(SchedulingPoliciesFlow, UnknownFieldsArePrunedAndEverythingIsOptional) {
  Json policy = Policy(R"({"foo": "bar", "podSelector": {}})");
  Flow(scene(), "a policy with an unknown field").Do(Create(kClusterPodSchedulingPolicies, policy));
  auto stored = scene().Get(kClusterPodSchedulingPolicies, "p");
  ASSERT_TRUE(stored) << stored.error();
  EXPECT_EQ((*stored)["spec"], Json::parse(R"({"podSelector": {}})"));
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
