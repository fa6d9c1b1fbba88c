// SPDX-License-Identifier: Apache-2.0
// Gating: which new pods get a scheduling gate. Pure, and decided from the pod and the request
// alone: whoever gates keeps no state and asks nobody, so a pod is never held up by what we don't
// know yet.
#pragma once

#include <string_view>
#include <vector>

namespace placement {

// What gating needs to know of a pod; views into whatever it was read from.
struct PodView {
  // Of the request: a new pod's own metadata may not have it yet.
  std::string_view ns;
  std::string_view node_name;
  // Has a controlling owner reference to a DaemonSet.
  bool owned_by_daemon_set = false;
  // Carries the label that our own operands carry.
  bool operand = false;
  std::vector<std::string_view> node_selector_keys;
  std::vector<std::string_view> gates;
  // One entry for each required node selector term: does it have an expression on the architecture?
  std::vector<bool> required_terms_on_architecture;
  // At least one preferred term has an expression on the architecture.
  bool prefers_architecture = false;
};

// True for a pod that is gated by no configuration whatsoever: bound to a node or the control
// plane, owned by a DaemonSet, or off limits (kOffLimits).
bool IsNeverGated(const PodView& pod, std::string_view operator_namespace);

enum class GateDecision {
  kGate,          // add the gate
  kAlreadyGated,  // it has the gate: only mark it as gated
  kIgnore,        // nothing for us to do on this pod
  kOffLimits,     // not ours to touch in any way: the system's namespaces and our own
};

// The gate that the cluster controller drops. `operator_namespace` is where the operator and its
// operands live. With `preferences` a configuration in force may prefer an architecture for this
// pod; without, a pod that already requires its architecture needs nothing from us and is ignored.
GateDecision ShouldGateForCluster(const PodView& pod, std::string_view operator_namespace,
                                  bool preferences);

// The gate that the shard of `shard_namespace` drops; pods of other namespaces are off limits to
// it. It is asked only for pods that a PodPlacementConfig selects, so there are always preferences.
GateDecision ShouldGateLocally(const PodView& pod, std::string_view shard_namespace,
                               std::string_view operator_namespace);

}  // namespace placement
