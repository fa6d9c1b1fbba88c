// SPDX-License-Identifier: Apache-2.0
#include "placement/daemon_nodes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "kube/codec/fields.h"

namespace placement {
namespace {

using kube::FieldReader;
using kube::core::PodSpec;
using kube::workloads::Taint;

// core/v1 PodSpec.hostNetwork, which the .proto does not have: its number, and the field when true.
constexpr int kHostNetwork = 11;
constexpr std::string_view kOnHostNetwork = "\x58\x01";

// The DaemonSet controller tolerates these taints for its pods.
struct ToleratedTaint {
  std::string_view key;
  std::string_view effect;
  bool only_host_network = false;
};
constexpr ToleratedTaint kTolerated[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
    {"node.kubernetes.io/network-unavailable", "NoSchedule", /*only_host_network=*/true}};

bool OnHostNetwork(const PodSpec& spec) {
  bool on = false;
  FieldReader fields(spec.unknown_fields());
  while (fields.Next()) {
    if (fields.number() == kHostNetwork) on = fields.whole() == kOnHostNetwork;
  }
  return on;
}

bool Repels(const Taint& taint, const PodSpec& spec) {
  if (!IsRepelling(taint)) return false;
  auto by_controller = [&](const ToleratedTaint& tolerated) {
    return tolerated.key == taint.key() && tolerated.effect == taint.effect() &&
           (!tolerated.only_host_network || OnHostNetwork(spec));
  };
  if (std::any_of(std::begin(kTolerated), std::end(kTolerated), by_controller)) return false;
  return !Tolerates(spec, taint);
}

}  // namespace

PodSpec NodeConstraintsOf(const PodSpec& spec) {
  PodSpec constraints;
  *constraints.mutable_node_selector() = spec.node_selector();
  *constraints.mutable_tolerations() = spec.tolerations();
  const auto& affinity = spec.affinity().node_affinity();
  if (affinity.has_required_during_scheduling_ignored_during_execution()) {
    *constraints.mutable_affinity()
         ->mutable_node_affinity()
         ->mutable_required_during_scheduling_ignored_during_execution() =
        affinity.required_during_scheduling_ignored_during_execution();
  }
  if (OnHostNetwork(spec)) constraints.mutable_unknown_fields()->append(kOnHostNetwork);
  return constraints;
}

bool RunsOn(const PodSpec& spec, const NodeView& node) {
  return HasSelectedLabels(spec, node) && SatisfiesAffinity(spec, node) &&
         std::none_of(node.taints.begin(), node.taints.end(),
                      [&](const Taint& taint) { return Repels(taint, spec); });
}

bool SupportNode(const CommonPlatforms& images, const NodeView& node) {
  std::string platform = PlatformOf(node);
  if (images.every || platform.empty()) return true;
  size_t slash = platform.find('/');
  return images.On(platform.substr(0, slash)).contains(platform.substr(slash + 1));
}

}  // namespace placement
