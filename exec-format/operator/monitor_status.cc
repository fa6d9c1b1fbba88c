// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_status.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "exec-format/names.h"
#include "kube/base/join.h"
#include "kube/base/one_line.h"
#include "kube/base/utf8.h"

namespace exec_format {
namespace {

using kube::Json;

constexpr size_t kShown = 3;
constexpr size_t kMaxReason = 300;

}  // namespace

MonitorRollout MonitorRolloutOf(const Json& daemon_set) {
  MonitorRollout rollout{.nodes = kube::IntAt(daemon_set, "status.desiredNumberScheduled"),
                         .available = kube::IntAt(daemon_set, "status.numberAvailable")};
  rollout.current = kube::IntAt(daemon_set, "status.observedGeneration", -1) >=
                        kube::IntAt(daemon_set, "metadata.generation") &&
                    kube::IntAt(daemon_set, "status.updatedNumberScheduled") == rollout.nodes;
  return rollout;
}

operator_::FeatureCondition::State StateOf(const MonitorRollout& rollout,
                                           const std::vector<std::string>& reasons) {
  std::string of_nodes =
      std::to_string(rollout.available) + " of " + std::to_string(rollout.nodes) + " nodes";
  if (rollout.complete()) {
    return {.status = true,
            .reason = "OnAllNodes",
            .message =
                "exec format errors are seen on all nodes (" + std::to_string(rollout.nodes) + ")"};
  }
  std::string message = "exec format errors are seen on " + of_nodes;
  if (rollout.nodes == 0) {
    message += ": no node has an architecture that the monitor's image was built for";
  } else if (!reasons.empty()) {
    message += ": " + kube::Join(reasons, kShown);
  } else if (rollout.available == rollout.nodes) {
    message += "; a new version is being rolled out";
  }
  return {.status = false,
          .reason = rollout.available == 0 ? "OnNoNode" : "NotOnAllNodes",
          .message = std::move(message)};
}

std::vector<std::string> ReasonsOf(const std::vector<kube::Unstructured>& events,
                                   const std::vector<kube::Unstructured>& pods) {
  std::map<std::string, std::string> nodes;  // by the UID of the pod
  for (const kube::Unstructured& pod : pods)
    nodes[pod.metadata().uid()] = kube::StringAt(pod.body(), "spec.nodeName");
  std::map<std::string, std::pair<std::string, std::string>> newest;  // of a node: time, message
  for (const kube::Unstructured& event : events) {
    auto pod = nodes.find(kube::StringAt(event.body(), "involvedObject.uid"));
    if (pod == nodes.end() || kube::StringAt(event.body(), "reason") != kReasonNotMonitored)
      continue;
    std::string time = kube::StringAt(event.body(), "lastTimestamp");
    auto& known = newest[pod->second];
    if (time < known.first) continue;
    std::string message = kube::OneLine(kube::StringAt(event.body(), "message"));
    known = {std::move(time), std::string(kube::CutUtf8(message, kMaxReason))};
  }
  std::vector<std::string> reasons;
  for (const auto& [node, why] : newest) reasons.push_back(node + ": " + why.second);
  return reasons;
}

}  // namespace exec_format
