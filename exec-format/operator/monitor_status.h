// SPDX-License-Identifier: Apache-2.0
// What the cluster shows of the monitors, as a condition of the ClusterPodPlacementConfig. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/unstructured.h"
#include "operator/status/feature_condition.h"

namespace exec_format {

// There only while the plugin is enabled.
inline constexpr std::string_view kMonitorAvailable = "ExecFormatErrorMonitorAvailable";

// From the status of the DaemonSet.
struct MonitorRollout {
  int64_t nodes = 0;      // that are to have a monitor
  int64_t available = 0;  // of them, where it sees exec format errors
  bool current = false;   // the status is that of the newest spec, on all nodes

  bool complete() const { return current && nodes > 0 && available == nodes; }
};
MonitorRollout MonitorRolloutOf(const kube::Json& daemon_set);

// `reasons`: of nodes or pods, why some are not available; a few are shown.
operator_::FeatureCondition::State StateOf(const MonitorRollout& rollout,
                                           const std::vector<std::string>& reasons);

// "node-a: the kernel has no BTF": from events of monitors' pods, the newest of each pod; without
// those of pods that are not in `pods`, by UID. Untrusted.
std::vector<std::string> ReasonsOf(const std::vector<kube::Unstructured>& events,
                                   const std::vector<kube::Unstructured>& pods);

}  // namespace exec_format
