// SPDX-License-Identifier: Apache-2.0
#include "placement/gate.h"

#include <algorithm>

#include "api/names.h"
#include "placement/pod_metadata.h"

namespace placement {

bool HasGate(const kube::core::Pod& pod, std::string_view gate) {
  const auto& gates = pod.spec().scheduling_gates();
  return std::any_of(gates.begin(), gates.end(),
                     [&](const auto& present) { return present.name() == gate; });
}

std::vector<std::string> OtherGates(const kube::core::Pod& pod) {
  std::vector<std::string> others;
  for (const kube::core::PodSchedulingGate& gate : pod.spec().scheduling_gates()) {
    if (gate.name() != api::kClusterGate && gate.name() != api::kLocalGate)
      others.push_back(gate.name());
  }
  return others;
}

bool DropGate(kube::core::Pod& pod, std::string_view gate) {
  if (!HasGate(pod, gate)) return false;
  auto& gates = *pod.mutable_spec()->mutable_scheduling_gates();
  auto is_gate = [&](const kube::core::PodSchedulingGate& present) {
    return present.name() == gate;
  };
  gates.erase(std::remove_if(gates.begin(), gates.end(), is_gate), gates.end());
  SetLabel(pod, gate, api::kRemoved);
  return true;
}

}  // namespace placement
