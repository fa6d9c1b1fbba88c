// SPDX-License-Identifier: Apache-2.0
#include "placement/gating.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/names.h"

namespace placement {
namespace {

constexpr std::string_view kOperator = "operator-ns";

struct Case {
  const char* name;
  std::function<void(PodView&)> change;
  GateDecision expected;
};

class GatingTest : public ::testing::TestWithParam<Case> {
 protected:
  PodView Pod() {
    PodView pod;
    pod.ns = "web";
    GetParam().change(pod);
    return pod;
  }
};

// The rules are the same for both gates, except for the gate that a pod already has.
TEST_P(GatingTest, ForCluster) {
  EXPECT_EQ(ShouldGateForCluster(Pod(), kOperator, true), GetParam().expected);
}
TEST_P(GatingTest, Locally) {
  PodView pod = Pod();
  for (std::string_view& gate : pod.gates) {
    if (gate == api::kClusterGate) gate = api::kLocalGate;
  }
  EXPECT_EQ(ShouldGateLocally(pod, pod.ns, kOperator), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, GatingTest,
    ::testing::Values(
        Case{"Plain", [](PodView&) {}, GateDecision::kGate},
        Case{"ForeignGate", [](PodView& pod) { pod.gates = {"example.com/quota"}; },
             GateDecision::kGate},
        Case{"OwnGate", [](PodView& pod) { pod.gates = {api::kClusterGate}; },
             GateDecision::kAlreadyGated},
        Case{"NodeName", [](PodView& pod) { pod.node_name = "node-1"; }, GateDecision::kIgnore},
        Case{"DaemonSet", [](PodView& pod) { pod.owned_by_daemon_set = true; },
             GateDecision::kIgnore},
        Case{"ControlPlane",
             [](PodView& pod) {
               pod.node_selector_keys = {"a", "node-role.kubernetes.io/control-plane"};
             },
             GateDecision::kIgnore},
        Case{"Master",
             [](PodView& pod) { pod.node_selector_keys = {"node-role.kubernetes.io/master"}; },
             GateDecision::kIgnore},
        Case{"WorkerSelector",
             [](PodView& pod) { pod.node_selector_keys = {"node-role.kubernetes.io/worker"}; },
             GateDecision::kGate},
        Case{"RequirementAlone",
             [](PodView& pod) { pod.node_selector_keys = {"kubernetes.io/arch"}; },
             GateDecision::kGate},
        Case{"PreferenceAlone", [](PodView& pod) { pod.prefers_architecture = true; },
             GateDecision::kGate},
        Case{"SelectorAndPreference",
             [](PodView& pod) {
               pod.node_selector_keys = {"kubernetes.io/arch"};
               pod.prefers_architecture = true;
             },
             GateDecision::kIgnore},
        Case{"AllTermsAndPreference",
             [](PodView& pod) {
               pod.required_terms_on_architecture = {true, true};
               pod.prefers_architecture = true;
             },
             GateDecision::kIgnore},
        Case{"OneTermWithoutArchitecture",
             [](PodView& pod) {
               pod.required_terms_on_architecture = {true, false};
               pod.prefers_architecture = true;
             },
             GateDecision::kGate},
        Case{"Operand", [](PodView& pod) { pod.operand = true; }, GateDecision::kOffLimits},
        Case{"OptedOut", [](PodView& pod) { pod.opted_out = true; }, GateDecision::kOffLimits},
        Case{"OptedOutWithTheGate",
             [](PodView& pod) {
               pod.opted_out = true;
               pod.gates = {api::kClusterGate};
             },
             GateDecision::kOffLimits},
        Case{"OperatorNamespace", [](PodView& pod) { pod.ns = kOperator; },
             GateDecision::kOffLimits},
        Case{"KubeSystem", [](PodView& pod) { pod.ns = "kube-system"; }, GateDecision::kOffLimits},
        Case{"NamespaceLikeKube", [](PodView& pod) { pod.ns = "kubeflow"; }, GateDecision::kGate},
        Case{"GatedInKubeSystem",
             [](PodView& pod) {
               pod.ns = "kube-system";
               pod.gates = {api::kClusterGate};
             },
             GateDecision::kOffLimits}),
    [](const auto& info) { return info.param.name; });

TEST(GatingOfShardTest, OtherNamespacesAreOffLimits) {
  PodView pod;
  pod.ns = "web";
  EXPECT_EQ(ShouldGateLocally(pod, "web", kOperator), GateDecision::kGate);
  EXPECT_EQ(ShouldGateLocally(pod, "web2", kOperator), GateDecision::kOffLimits);
}

TEST(GatingOfShardTest, TheClusterGateDoesNotStandForTheLocalOne) {
  PodView pod;
  pod.ns = "web";
  pod.gates = {api::kClusterGate};
  EXPECT_EQ(ShouldGateLocally(pod, "web", kOperator), GateDecision::kGate);
  pod.gates = {api::kLocalGate};
  EXPECT_EQ(ShouldGateForCluster(pod, kOperator, true), GateDecision::kGate);
}

TEST(GatingWithoutPreferencesTest, PodsThatRequireTheirArchitectureAreIgnored) {
  PodView selector;
  selector.ns = "web";
  selector.node_selector_keys = {"kubernetes.io/arch"};
  PodView terms;
  terms.ns = "web";
  terms.required_terms_on_architecture = {true, true};
  for (const PodView& pod : {selector, terms}) {
    EXPECT_EQ(ShouldGateForCluster(pod, kOperator, /*preferences=*/false), GateDecision::kIgnore);
    EXPECT_EQ(ShouldGateForCluster(pod, kOperator, /*preferences=*/true), GateDecision::kGate);
    EXPECT_EQ(ShouldGateLocally(pod, "web", kOperator), GateDecision::kGate);
  }
  terms.required_terms_on_architecture = {true, false};
  EXPECT_EQ(ShouldGateForCluster(terms, kOperator, /*preferences=*/false), GateDecision::kGate);
  terms.required_terms_on_architecture = {};
  EXPECT_EQ(ShouldGateForCluster(terms, kOperator, /*preferences=*/false), GateDecision::kGate);
  // A pod that has the gate is treated as gated, even if a user set it.
  selector.gates = {api::kClusterGate};
  EXPECT_EQ(ShouldGateForCluster(selector, kOperator, /*preferences=*/false),
            GateDecision::kAlreadyGated);
}

}  // namespace
}  // namespace placement
