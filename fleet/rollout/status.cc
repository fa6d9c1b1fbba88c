// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/status.h"

#include <utility>

#include "api/find_condition.h"
#include "fleet/api/budgets.h"
#include "kube/base/join.h"

namespace fleet {
namespace {

std::string Clusters(int64_t number) {
  return std::to_string(number) + (number == 1 ? " cluster" : " clusters");
}

// Reasons of kRolledOut, and the states.
constexpr std::pair<std::string_view, std::string_view> kStates[] = {
    {kReasonProgressing, "progressing"}, {kReasonSucceeded, "succeeded"},
    {kReasonFailed, "failed"},           {kReasonStopped, "stopped"},
    {kReasonTooLarge, "stopped"},        {kReasonNoDecisions, "undecided"}};

// "1 of 3 clusters succeeded, 1 failed, 1 waiting"
std::string Summary(const RolloutCounts& counts) {
  std::string text =
      std::to_string(counts.succeeded) + " of " + Clusters(counts.total) + " succeeded";
  int64_t waiting =
      counts.total - counts.succeeded - counts.progressing - counts.failed - counts.timed_out;
  const std::pair<int64_t, std::string_view> kParts[] = {{counts.progressing, "progressing"},
                                                         {counts.failed, "failed"},
                                                         {counts.timed_out, "timed out"},
                                                         {waiting, "waiting"},
                                                         {counts.removing, "removing"}};
  for (const auto& [number, name] : kParts) {
    if (number > 0) text += ", " + std::to_string(number) + " " + std::string(name);
  }
  return text;
}

api::Condition RolledOut(const RolloutPlan& plan) {
  api::Condition condition{.type = std::string(kRolledOut), .status = "False"};
  const RolloutCounts& counts = plan.counts;
  condition.message = Summary(counts);
  if (plan.without_room > 0) {
    condition.reason = kReasonTooLarge;
    condition.message += "; " + Clusters(plan.without_room) +
                         " without room: a namespace's FleetPodPlacements may have " +
                         std::to_string(kMaxWorksOfNamespace) + " work objects, those of the hub " +
                         std::to_string(kMaxWorks);
  } else if (!plan.stopped.empty()) {
    condition.reason = kReasonStopped;
    condition.message += "; " + kube::Join(plan.stopped);
  } else if (!plan.undecided.empty()) {
    condition.reason = kReasonNoDecisions;
    condition.message += "; without decisions: Placement " + kube::Join(plan.undecided);
  } else if (plan.complete()) {
    condition.status = "True";
    condition.reason = kReasonSucceeded;
  } else if (counts.succeeded + counts.failed + counts.timed_out == counts.total &&
             counts.removing == 0) {
    condition.reason = kReasonFailed;
  } else {
    condition.reason = kReasonProgressing;
  }
  if (plan.ignored > 0) {
    condition.message += "; ignored: " + std::to_string(plan.ignored) +
                         (plan.ignored == 1 ? " decision" : " decisions") +
                         " about clusters that do not exist or are in no cluster set bound here";
  }
  return condition;
}

}  // namespace

FleetPodPlacementStatus StatusOf(const FleetPodPlacement& fleet, const RolloutPlan* plan,
                                 kube::WallTime now) {
  FleetPodPlacementStatus status = fleet.status;
  auto set = [&](api::Condition condition) {
    condition.observed_generation = fleet.generation;
    api::SetCondition(status.conditions, std::move(condition), now);
  };
  status.observed_generation = fleet.generation;
  if (!fleet.problems.empty()) {
    set({.type = std::string(kAccepted),
         .status = "False",
         .reason = std::string(fleet.too_large ? kReasonTooLarge : kReasonInvalid),
         .message = api::Describe(fleet.problems)});
    return status;
  }
  set({.type = std::string(kAccepted),
       .status = "True",
       .reason = std::string(kReasonValid),
       .message = "The spec is valid"});
  if (plan == nullptr) return status;
  status.hash = fleet.hash;
  status.clusters = plan->counts;
  status.failures = plan->failures;
  set(RolledOut(*plan));
  return status;
}

std::string_view RolloutStateOf(const FleetPodPlacement& fleet) {
  if (fleet.deleting) return "deleting";
  if (!fleet.problems.empty()) return "invalid";
  const api::Condition* rolled_out = api::FindCondition(fleet.status.conditions, kRolledOut);
  std::string_view reason = rolled_out == nullptr ? kReasonProgressing : rolled_out->reason;
  for (const auto& [of, state] : kStates) {
    if (reason == of) return state;
  }
  return "progressing";
}

}  // namespace fleet
