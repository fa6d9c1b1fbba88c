// SPDX-License-Identifier: Apache-2.0
#include "placement/gating.h"

#include <algorithm>

#include "api/names.h"

namespace placement {
namespace {

bool Contains(const std::vector<std::string_view>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool IsOffLimits(const PodView& pod, std::string_view operator_namespace) {
  return pod.operand || pod.opted_out || pod.ns == operator_namespace ||
         pod.ns.starts_with("kube-");
}

bool SelectsControlPlane(const PodView& pod) {
  return Contains(pod.node_selector_keys, api::kControlPlaneNodeLabel) ||
         Contains(pod.node_selector_keys, api::kMasterNodeLabel);
}

// The user has constrained the architecture everywhere: no requirement would be added.
bool RequiresArchitecture(const PodView& pod) {
  const std::vector<bool>& terms = pod.required_terms_on_architecture;
  return Contains(pod.node_selector_keys, api::kArchLabel) ||
         (!terms.empty() && std::find(terms.begin(), terms.end(), false) == terms.end());
}

GateDecision ShouldGate(const PodView& pod, std::string_view gate,
                        std::string_view operator_namespace, bool preferences) {
  if (IsOffLimits(pod, operator_namespace)) return GateDecision::kOffLimits;
  if (Contains(pod.gates, gate)) return GateDecision::kAlreadyGated;
  if (IsNeverGated(pod, operator_namespace)) return GateDecision::kIgnore;
  // The user's own requirement and preference take precedence: nothing would be added.
  if (RequiresArchitecture(pod) && (pod.prefers_architecture || !preferences))
    return GateDecision::kIgnore;
  return GateDecision::kGate;
}

}  // namespace

bool IsNeverGated(const PodView& pod, std::string_view operator_namespace) {
  return IsOffLimits(pod, operator_namespace) || !pod.node_name.empty() ||
         pod.owned_by_daemon_set || SelectsControlPlane(pod);
}

GateDecision ShouldGateForCluster(const PodView& pod, std::string_view operator_namespace,
                                  bool preferences) {
  return ShouldGate(pod, api::kClusterGate, operator_namespace, preferences);
}

GateDecision ShouldGateLocally(const PodView& pod, std::string_view shard_namespace,
                               std::string_view operator_namespace) {
  if (pod.ns != shard_namespace) return GateDecision::kOffLimits;
  return ShouldGate(pod, api::kLocalGate, operator_namespace, /*preferences=*/true);
}

}  // namespace placement
