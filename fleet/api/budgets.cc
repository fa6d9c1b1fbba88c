// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/budgets.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/api/properties.h"
#include "fleet/api/rollout_strategy.h"
#include "kube/types/list_at.h"

namespace fleet {
namespace {

using kube::Json;

// What an entry of a list or map needs besides its text.
constexpr size_t kItem = 64;
// An object: its key in the store, the budget and the watch, and fields of fixed size.
constexpr size_t kObjectBytes = 1024;
// An entry of a map of scores.
constexpr size_t kScore = 96;
// A text of CEL is also in what evaluates it.
constexpr size_t kCelCopies = 3;

// Parsed selectors need about as much.
size_t JsonBytes(const Json& json) {
  size_t bytes = kItem;
  if (json.is_string()) return bytes + json.get_ref<const std::string&>().size();
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) bytes += name.size() + JsonBytes(value);
  } else if (json.is_array()) {
    for (const Json& value : json) bytes += JsonBytes(value);
  }
  return bytes;
}

size_t PropertiesBytes(const Properties& properties) {
  size_t bytes = 0;
  for (size_t i = 0; i < properties.size(); ++i) {
    auto [name, value] = properties.At(i);
    bytes += name.size() + value.size() + 2 * sizeof(uint32_t);
  }
  return bytes;
}

size_t ProblemsBytes(const api::FieldErrors& problems) {
  size_t bytes = 0;
  for (const api::FieldError& problem : problems)
    bytes += kItem + problem.field.size() + problem.message.size();
  return bytes;
}

size_t ConditionsBytes(const std::vector<api::Condition>& conditions) {
  size_t bytes = 0;
  for (const api::Condition& condition : conditions) {
    bytes += 3 * kItem + condition.type.size() + condition.reason.size() +
             condition.message.size() + condition.last_transition_time.size();
  }
  return bytes;
}

}  // namespace

size_t KeptBytes(const ManagedCluster& cluster, const Json&) {
  size_t bytes = kObjectBytes + PropertiesBytes(cluster.labels) + PropertiesBytes(cluster.claims) +
                 ProblemsBytes(cluster.problems);
  for (const Taint& taint : cluster.taints)
    bytes += 2 * kItem + taint.key.size() + taint.value.size() + taint.effect.size();
  return bytes;
}

size_t KeptBytes(const AddOnPlacementScore& score, const Json&) {
  size_t bytes = kObjectBytes + ProblemsBytes(score.problems);
  for (const auto& [name, value] : score.scores) bytes += kScore + name.size();
  return bytes;
}

size_t KeptBytes(const Placement& placement, const Json& json) {
  size_t bytes = kObjectBytes + placement.scheduler.size() +
                 JsonBytes(kube::ObjectAt(json, "spec")) + ProblemsBytes(placement.problems) +
                 ConditionsBytes(placement.status.conditions);
  for (const ClusterSelector& predicate : placement.spec.predicates) {
    for (const std::string& text : predicate.cel) bytes += kCelCopies * text.size();
  }
  for (const DecisionGroupStatus& group : placement.status.decision_groups) {
    bytes += kItem + group.name.size();
    for (const std::string& decision : group.decisions) bytes += kItem + decision.size();
  }
  return bytes;
}

size_t DecisionBytes(size_t entries, bool scored) {
  return kObjectBytes +
         entries * (sizeof(uint32_t) + (scored ? sizeof(std::optional<int64_t>) : 0));
}

size_t KeptBytes(const PlacementDecision& decision, const Json&) {
  bool scored = false;
  for (const Decision& entry : decision.decisions) scored = scored || entry.score.has_value();
  // Who writes a PlacementDecision chooses the uid of its owner.
  return DecisionBytes(decision.decisions.size(), scored) + decision.owner_uid.size();
}

size_t KeptBytes(const FleetPodPlacement& fleet, const Json&) {
  size_t bytes =
      kObjectBytes + ProblemsBytes(fleet.problems) + ConditionsBytes(fleet.status.conditions);
  for (const PlacementRef& ref : fleet.spec.placements)
    bytes += JsonBytes(RolloutStrategyToJson(ref.strategy)) + ref.name.size();
  for (const Json& object : fleet.Objects()) bytes += kube::PackJson(object).size();
  for (const ClusterFailure& failure : fleet.status.failures)
    bytes += kItem + failure.cluster.size() + failure.message.size();
  for (const std::string& finalizer : fleet.finalizers) bytes += kItem + finalizer.size();
  return bytes;
}

std::string DescribeExcess(std::string_view kinds, const Budget& budget, Excess excess,
                           size_t bytes) {
  std::string needs = "is not in force: ";
  if (bytes > 0) needs += "it needs " + std::to_string(bytes) + " bytes, and ";
  const std::string oldest = "; the oldest ones stay in force";
  const std::string all(kinds);
  switch (excess) {
    case Excess::kObject:
      return needs + "at most " + std::to_string(budget.object) + " are allowed";
    case Excess::kOwner:
      return needs + "all " + all + " of its namespace may have " + std::to_string(budget.owner) +
             " together" + oldest;
    case Excess::kTotal:
      return needs + "all " + all + " of the hub may have " + std::to_string(budget.total) +
             " together" + oldest;
    case Excess::kOwnerObjects:
      return "is not in force: its namespace has more than " +
             std::to_string(budget.owner_objects) + " " + all;
    case Excess::kObjects:
      return "is not in force: the hub has more than " + std::to_string(budget.objects) + " " + all;
  }
  return "";
}

}  // namespace fleet
