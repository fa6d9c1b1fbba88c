// SPDX-License-Identifier: Apache-2.0
// Gating: which new pods get a scheduling gate. Pure: the pod and the request are the only input,
// and no pod waits for a cache or a call. What the ClusterPodPlacementConfig says (namespaces and
// schedulers) is decided before, by the API server (operator/objects/pod_conditions.h).
#pragma once

#include <string_view>
#include <vector>

namespace placement {

// The parts of a pod that decide whether it is gated. The views belong to the caller.
struct PodView {
  // From the request: the metadata of a new pod may not have it yet.
  std::string_view ns;
  std::string_view node_name;
  // Created by the controller of DaemonSets (creators.h).
  bool owned_by_daemon_set = false;
  // Has the label api::kOperandLabel.
  bool operand = false;
  // Has the label api::kExcludeLabel.
  bool opted_out = false;
  std::vector<std::string_view> node_selector_keys;
  std::vector<std::string_view> gates;
  // For each required node selector term, whether it has an expression on kubernetes.io/arch.
  std::vector<bool> required_terms_on_architecture;
  // At least one preferred term has an expression on kubernetes.io/arch.
  bool prefers_architecture = false;
};

// True for a pod that no configuration gates: bound to a node, selecting the control plane, owned
// by a DaemonSet, or off limits (kOffLimits).
bool IsNeverGated(const PodView& pod, std::string_view operator_namespace);

enum class GateDecision {
  kGate,          // add the gate
  kAlreadyGated,  // the pod has the gate: only set the gate's label
  kIgnore,        // the pod needs no requirement and no preferences
  // Do not change the pod at all: an operand, opted out, or in kube-* or the operator's namespace.
  kOffLimits,
};

// For the cluster gate. `operator_namespace` is the namespace of the operator and its operands.
// With `preferences`, a configuration may have preferences for this pod. Without, a pod that
// already requires an architecture is ignored.
GateDecision ShouldGateForCluster(const PodView& pod, std::string_view operator_namespace,
                                  bool preferences);

// For the local gate, which the shard of `shard_namespace` drops; pods of other namespaces are not
// gated. Called only for pods that a PodPlacementConfig selects: there are always preferences.
GateDecision ShouldGateLocally(const PodView& pod, std::string_view shard_namespace,
                               std::string_view operator_namespace);

}  // namespace placement
