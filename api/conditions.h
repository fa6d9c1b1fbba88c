// SPDX-License-Identifier: Apache-2.0
// Conditions of a status, as metav1.Condition.
//
//   Condition available{.type = std::string(kAvailable), .status = "True", .reason = "Ready"};
//   if (SetCondition(config.status.conditions, available, now)) ... write the status ...
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"

namespace api {

// Condition types of both kinds.
inline constexpr std::string_view kAvailable = "Available";
inline constexpr std::string_view kProgressing = "Progressing";
inline constexpr std::string_view kDegraded = "Degraded";
// Condition types of the ClusterPodPlacementConfig alone.
inline constexpr std::string_view kDeprovisioning = "Deprovisioning";
inline constexpr std::string_view kControllerNotRolledOut = "PodPlacementControllerNotRolledOut";
inline constexpr std::string_view kWebhookNotRolledOut = "PodPlacementWebhookNotRolledOut";
inline constexpr std::string_view kMutatingWebhookConfigurationNotAvailable =
    "MutatingWebhookConfigurationNotAvailable";

// The ClusterPodPlacementConfig has this condition only while a provider is to issue certificates.
// Its reasons begin with the provider's name.
inline constexpr std::string_view kCertificatesProvided = "CertificatesProvided";

inline constexpr std::array<std::string_view, 3> kConditionStatuses = {"True", "False", "Unknown"};

struct Condition {
  std::string type;
  std::string status;  // one of kConditionStatuses
  std::string reason;  // CamelCase, never empty
  std::string message;
  int64_t observed_generation = 0;
  std::string last_transition_time;  // RFC 3339; SetCondition() keeps it

  bool operator==(const Condition&) const = default;
  static void Fields(auto& condition, auto& field) {
    field("type", condition.type, kRequired);
    field("status", condition.status, OneOf{kConditionStatuses}, kRequired);
    field("reason", condition.reason, kRequired);
    field("message", condition.message, kRequired);
    field("observedGeneration", condition.observed_generation, Range{.low = 0});
    field("lastTransitionTime", condition.last_transition_time, kRequired);
  }
};

// Adds `condition`, or replaces the one of its type. last_transition_time becomes `now` only if the
// status changes. A message longer than the API allows is truncated; a reason that the API would
// refuse becomes "Unknown". Returns: false if nothing changed and the status need not be written.
bool SetCondition(std::vector<Condition>& conditions, Condition condition,
                  std::chrono::system_clock::time_point now);

}  // namespace api
