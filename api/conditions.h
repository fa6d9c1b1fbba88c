// SPDX-License-Identifier: Apache-2.0
// Conditions of a status, as metav1.Condition.
//
//   bool changed = SetCondition(config.status.conditions, {.type = std::string(kAvailable), .status
//   = "True", ...}, now); if (changed) ... write the status ...
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/unstructured.h"

namespace api {

// Condition types of both kinds.
inline constexpr std::string_view kAvailable = "Available";
inline constexpr std::string_view kProgressing = "Progressing";
inline constexpr std::string_view kDegraded = "Degraded";
// Of the ClusterPodPlacementConfig only.
inline constexpr std::string_view kDeprovisioning = "Deprovisioning";
inline constexpr std::string_view kControllerNotRolledOut = "PodPlacementControllerNotRolledOut";
inline constexpr std::string_view kWebhookNotRolledOut = "PodPlacementWebhookNotRolledOut";
inline constexpr std::string_view kMutatingWebhookConfigurationNotAvailable =
    "MutatingWebhookConfigurationNotAvailable";
// Of the ClusterPodPlacementConfig, and there only while the plugin is enabled.
inline constexpr std::string_view kExecFormatErrorMonitorSupported =
    "ExecFormatErrorMonitorSupported";

struct Condition {
  std::string type;
  std::string status;  // "True", "False" or "Unknown"
  std::string reason;  // CamelCase, never empty
  std::string message;
  int64_t observed_generation = 0;
  std::string last_transition_time;  // RFC 3339; SetCondition() keeps it

  bool operator==(const Condition&) const = default;
};

// Adds `condition`, or replaces the one of its type. last_transition_time moves to `now` only when
// the status changes. A message longer than the API allows is cut, a reason that the API would
// refuse becomes "Unknown". Returns: whether anything changed, so that an unchanged status is not
// written.
bool SetCondition(std::vector<Condition>& conditions, Condition condition,
                  std::chrono::system_clock::time_point now);

// nullptr if there is none of this type.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);
// True if there is one of this type with status "True".
bool IsTrue(const std::vector<Condition>& conditions, std::string_view type);

// What is not a condition is left out: a status is ours to write again, never a reason to refuse an
// object.
std::vector<Condition> ConditionsFromJson(const kube::Json& status);
kube::Json ConditionsToJson(const std::vector<Condition>& conditions);

}  // namespace api
