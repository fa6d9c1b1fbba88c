// SPDX-License-Identifier: Apache-2.0
// What MissedPolicies adds is in the write of PodReconciler that releases the pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/names.h"
#include "cluster-controller/testing/pod_reconciler_fixture.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/architecture.h"
#include "placement/gate.h"
#include "scheduling-policies/cluster-controller/missed_policies.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {
namespace {

class MissedPoliciesReleaseTest : public cluster_controller::PodReconcilerTest {
 protected:
  MissedPoliciesReleaseTest() {
    Add(std::make_unique<MissedPolicies>(api_, clock_, "operator-ns"));
  }

  void Enable() {
    CreateClusterConfig({{"plugins", {{"schedulingPolicies", {{"enabled", true}}}}}});
    auto config = cluster_configs_.Get({"", "cluster"});
    additions_.front()->Follow(&*config);
  }
};

TEST_F(MissedPoliciesReleaseTest, MissedPoliciesAreAddedInTheSameWriteAndDecideTheArchitecture) {
  CreateNamespace("ns", "a");
  kube::Json term = kube::MustParseJson(R"({"matchExpressions": [
      {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]})");
  kube::Json policy = {{"metadata", {{"name", "arm"}, {"namespace", "ns"}}}};
  policy["spec"]["podSelector"] = kube::Json::object();
  policy["spec"]["schedulerName"] = "other";
  policy["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", kube::Json::array({term})}};
  api_.CreateJson(kPodSchedulingPolicies, policy);
  Enable();
  api_.Create<kube::core::Pod>(GatedPod());
  EXPECT_NE(*Reconcile(), kube::Outcome::Done()) << "the policies are not listed yet";
  kube::Drain(io_);
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kClusterGate));
  EXPECT_EQ(Required(), std::set<std::string>({"arm64"}));
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  std::vector<std::string> events = Events();
  for (std::string_view reason : {kReasonPoliciesAdded, kReasonPoliciesMissed})
    EXPECT_EQ(std::count(events.begin(), events.end(), reason), 1) << reason;
}

// What opts out of placement does not opt out of what an administrator enforces.
TEST_F(MissedPoliciesReleaseTest, PodsThatOptOutOfPlacementGetMissedPolicies) {
  kube::core::Namespace ns;
  ns.mutable_metadata()->set_name("ns");
  (*ns.mutable_metadata()->mutable_labels())[std::string(api::kExcludeLabel)] = "";
  api_.Create(ns);
  kube::Json policy = {{"metadata", {{"name", "all"}}}};
  policy["spec"]["podSelector"] = kube::Json::object();
  policy["spec"]["namespaceSelector"] = kube::Json::object();
  policy["spec"]["nodeSelector"]["pool"] = "a";
  api_.CreateJson(kClusterPodSchedulingPolicies, policy);
  CreateClusterConfig({{"plugins", {{"schedulingPolicies", {{"enabled", true}}}}},
                       {"excludedSchedulerNames", {"volcano"}}});
  auto config = cluster_configs_.Get({"", "cluster"});
  additions_.front()->Follow(&*config);
  kube::Drain(io_);
  kube::core::Pod scheduled = GatedPod();
  scheduled.mutable_spec()->set_scheduler_name("volcano");
  for (const kube::core::Pod& pod :
       {scheduled, kube::core::Pod(GatedPod().Label(api::kExcludeLabel, "")),
        kube::core::Pod(kube::MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"))}) {
    api_.Create<kube::core::Pod>(pod);
    EXPECT_THAT(Reconcile(), kube::IsOk());
    EXPECT_FALSE(Gated()) << pod.ShortDebugString();
    EXPECT_EQ(Web().spec().node_selector().count("pool"), 1u) << pod.ShortDebugString();
    EXPECT_TRUE(Required().empty()) << pod.ShortDebugString();
    api_.Delete<kube::core::Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), kube::IsOk());
  }
  std::vector<std::string> events = Events();
  EXPECT_GE(std::count(events.begin(), events.end(), kReasonPoliciesAdded), 1);

  // If the API server refuses them, the pod does not wait either.
  api_.Create<kube::core::Pod>(GatedPod().Label(api::kExcludeLabel, ""));
  api_.FailNext(kube::Error::Invalid("not in this namespace"), "PUT");
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_TRUE(Gated());
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_TRUE(Web().spec().node_selector().empty());
}

// A policy that fits no pod of its namespace costs neither the requirement nor the gate.
TEST_F(MissedPoliciesReleaseTest, RefusedCriteriaOfPoliciesDoNotCostTheRequirement) {
  CreateNamespace("ns", "a");
  kube::Json policy = {{"metadata", {{"name", "odd"}, {"namespace", "ns"}}}};
  policy["spec"]["podSelector"] = kube::Json::object();
  policy["spec"]["nodeSelector"]["pool"] = "a";
  api_.CreateJson(kPodSchedulingPolicies, policy);
  Enable();
  kube::Drain(io_);
  api_.Create<kube::core::Pod>(GatedPod());
  api_.FailNext(kube::Error::Invalid("not in this namespace"), "PUT");
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_TRUE(Gated());
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (placement::ArchitectureSet{"amd64", "arm64"}));
  EXPECT_TRUE(Web().spec().node_selector().empty());
}

}  // namespace
}  // namespace policy
