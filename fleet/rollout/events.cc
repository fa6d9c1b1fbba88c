// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/events.h"

#include "api/find_condition.h"
#include "fleet/rollout/status.h"

namespace fleet {
namespace {

struct Told {
  std::string_view condition;
  std::string_view reason;  // of the condition
  bool warning;
  std::string_view event;
};
constexpr Told kTold[] = {{kRolledOut, kReasonStopped, true, "RolloutStopped"},
                          {kRolledOut, kReasonTooLarge, true, "TooLarge"},
                          {kRolledOut, kReasonFailed, true, "RolloutFailed"},
                          {kRolledOut, kReasonSucceeded, false, "RolloutSucceeded"},
                          {kAccepted, kReasonInvalid, true, "InvalidSpec"}};

bool Has(const api::Condition* condition, std::string_view reason) {
  return condition != nullptr && condition->reason == reason;
}

}  // namespace

std::vector<RolloutEvent> RolloutEventsOf(const FleetPodPlacementStatus& before,
                                          const FleetPodPlacementStatus& after) {
  std::vector<RolloutEvent> events;
  for (const Told& told : kTold) {
    const api::Condition* now = api::FindCondition(after.conditions, told.condition);
    if (!Has(now, told.reason)) continue;
    bool same_hash = before.hash == after.hash || told.condition == kAccepted;
    if (same_hash && Has(api::FindCondition(before.conditions, told.condition), told.reason))
      continue;
    events.push_back({told.warning, told.event, now->message});
  }
  return events;
}

}  // namespace fleet
