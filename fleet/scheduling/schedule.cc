// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/schedule.h"

#include <algorithm>

#include "fleet/scheduling/cluster_sets.h"
#include "fleet/scheduling/predicates.h"
#include "fleet/scheduling/spread.h"
#include "fleet/scheduling/tolerations.h"
#include "kube/base/join.h"

namespace fleet {
namespace {

using kube::WallTime;

constexpr size_t kNamedSets = 10;  // in a message

Satisfied JudgeResult(const Placement& placement, const EligibleClusters& eligible,
                      const Scheduled& result) {
  const std::string sets = kube::Join(placement.spec.cluster_sets, kNamedSets);
  if (!eligible.bindings) {
    return {false, kNoManagedClusterSetBindings,
            "No ManagedClusterSetBinding of this namespace binds an existing ManagedClusterSet"};
  }
  if (eligible.sets.empty()) {
    return {false, kNoIntersection, "None of the clusterSets is bound to this namespace: " + sets};
  }
  if (eligible.clusters.empty()) {
    return {false, kAllManagedClusterSetsEmpty,
            "The ManagedClusterSets have no clusters: " + kube::Join(eligible.sets, kNamedSets)};
  }
  if (result.selected == 0) {
    std::string why = placement.spec.number_of_clusters == 0
                          ? "numberOfClusters is 0"
                          : "No cluster of " + std::to_string(eligible.clusters.size()) +
                                " matches: " + result.rejections.Describe();
    return {false, kNoManagedClusterMatched, std::move(why)};
  }
  if (result.unscheduled == 0)
    return {true, kAllDecisionsScheduled, "All cluster decisions scheduled"};
  return {false, kNotAllDecisionsScheduled,
          std::to_string(result.unscheduled) + " cluster decisions unscheduled"};
}

void Earlier(std::optional<WallTime>& time, const std::optional<WallTime>& other) {
  if (other && (!time || *other < *time)) time = other;
}

}  // namespace

Scheduled Schedule(const Placement& placement, const DecisionCounts& own, const Fleet& fleet,
                   WallTime now, CelSelectors& cel, const ScheduleOptions& options) {
  Scheduled result;
  auto configuration = CheckConfiguration(placement, cel);
  if (auto* bad = std::get_if<Misconfigured>(&configuration)) {
    result.misconfigured = std::move(*bad);
    return result;
  }
  const Prioritizers& prioritizers = std::get<Prioritizers>(configuration);
  const PlacementSpec& spec = placement.spec;

  // Filter.
  const EligibleClusters eligible = FindEligible(placement, fleet);
  result.sets = eligible.sets;
  Clusters matching =
      FilterByPredicates(spec.predicates, eligible.clusters, cel, result.rejections);
  ToleratedClusters tolerated =
      FilterByTaints(spec.tolerations, matching, own, now, result.rejections);
  result.feasible = std::move(tolerated.clusters);
  result.filters = {{std::string(kPredicate), std::move(matching)},
                    {"Predicate,TaintToleration", result.feasible}};

  // Score.
  Scores scores = Score(prioritizers, {result.feasible, own, fleet, now});
  result.prioritizers = std::move(scores.results);
  result.totals = std::move(scores.totals);
  result.warnings = std::move(scores.warnings);

  // Pick.
  const size_t wanted = spec.number_of_clusters ? static_cast<size_t>(*spec.number_of_clusters)
                                                : result.feasible.size();
  result.picks = options.ignore_spread
                     ? PickBest(result.totals, wanted)
                     : PickSpread(spec.spread, prioritizers.spread_weight, result.feasible,
                                  result.totals, wanted, result.rejections);
  result.selected = static_cast<int64_t>(result.picks.size());
  result.unscheduled = static_cast<int64_t>(wanted - result.picks.size());

  // Divide; groups are by name unless sorted by score.
  std::vector<size_t> by_name = result.picks;
  std::sort(by_name.begin(), by_name.end());
  std::vector<SelectedCluster> selected;
  selected.reserve(by_name.size());
  for (size_t i : by_name) {
    selected.push_back({result.feasible[i], result.totals[i]});
    Earlier(result.requeue_at, tolerated.until[i]);
  }
  result.groups = DivideIntoGroups(spec, selected);

  // A score is valid up to and including its time.
  if (scores.valid_until) Earlier(result.requeue_at, *scores.valid_until + WallTime::duration(1));
  result.satisfied = JudgeResult(placement, eligible, result);
  return result;
}

}  // namespace fleet
