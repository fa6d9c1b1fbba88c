// SPDX-License-Identifier: Apache-2.0
#include "operator/status/status_events.h"

#include "api/find_condition.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {
namespace {

// How one condition changes. An absent condition has empty fields.
struct Change {
  api::Condition before;
  api::Condition after;

  bool Became(std::string_view status) const {
    return before.status != status && after.status == status;
  }
  bool HasReason(std::string_view reason) const {
    return before.reason != reason && after.reason == reason;
  }
};

api::Condition Find(const std::vector<api::Condition>& conditions, std::string_view type) {
  const api::Condition* found = api::FindCondition(conditions, type);
  return found == nullptr ? api::Condition() : *found;
}

template <class Status>
Change ChangeOf(std::string_view type, const Status& before, const Status& after) {
  return {Find(before.conditions, type), Find(after.conditions, type)};
}

void AddHealth(const Change& degraded, std::string_view degraded_reason,
               std::string_view recovered_reason, std::vector<StatusEvent>& events) {
  bool is_degraded = degraded.after.status == "True";
  if (is_degraded &&
      (degraded.before.status != "True" || degraded.before.reason != degraded.after.reason)) {
    events.push_back(
        {true, degraded_reason, degraded.after.reason + ": " + degraded.after.message});
  }
  if (degraded.before.status == "True" && !is_degraded)
    events.push_back({false, recovered_reason, "no longer " + degraded.before.reason});
}

}  // namespace

std::vector<StatusEvent> EventsOf(const api::PodPlacementConfigStatus& before,
                                  const api::PodPlacementConfigStatus& after) {
  std::vector<StatusEvent> events;
  AddHealth(ChangeOf(api::kDegraded, before, after), kShardDegraded, kShardRecovered, events);
  Change available = ChangeOf(api::kAvailable, before, after);
  if (available.Became("True")) events.push_back({false, kShardAvailable, available.after.message});
  Change progressing = ChangeOf(api::kProgressing, before, after);
  if (progressing.HasReason("Deprovisioning"))
    events.push_back({false, kShardTeardown, available.after.message});
  if (progressing.HasReason("NoShard") && !progressing.before.reason.empty())
    events.push_back({false, kShardRemoved, available.after.message});
  return events;
}

std::vector<StatusEvent> EventsOf(const api::ClusterPodPlacementConfigStatus& before,
                                  const api::ClusterPodPlacementConfigStatus& after) {
  std::vector<StatusEvent> events;
  AddHealth(ChangeOf(api::kDegraded, before, after), kOperandsDegraded, kOperandsRecovered, events);
  Change available = ChangeOf(api::kAvailable, before, after);
  if (available.Became("True"))
    events.push_back({false, kOperandsAvailable, available.after.message});
  Change deprovisioning = ChangeOf(api::kDeprovisioning, before, after);
  if (deprovisioning.Became("True"))
    events.push_back({false, kOperandsTeardown, deprovisioning.after.message});

  Change shards = ChangeOf(kShardsUpToDate, before, after);
  if (shards.Became("False")) events.push_back({false, kShardUpgradeBegun, shards.after.message});
  if (shards.HasReason(kUpgradeStopped)) {
    events.push_back({true, kShardUpgradeStopped, shards.after.message});
  } else if (shards.before.reason == kUpgradeStopped && shards.HasReason(kUpgrading)) {
    events.push_back({false, kShardUpgradeResumed, shards.after.message});
  }
  if (shards.before.status == "False" && shards.Became("True"))
    events.push_back({false, kShardUpgradeFinished, shards.after.message});
  return events;
}

}  // namespace operator_
