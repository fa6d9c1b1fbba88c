// SPDX-License-Identifier: Apache-2.0
// Schedule(): one pass for one Placement, from what the hub knows to the clusters it selects and
// why. Pure: no I/O and no clock. It never fails and its time is bounded, whatever users, members
// and add-ons wrote.
//
//   Scheduled result = Schedule(placement, own, fleet, clock.WallNow(), cel);
//   if (result.misconfigured) ... keep the decisions, report why ...
//   std::vector<DecisionPage> pages = PagesOf(placement, result.groups);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/cel_selectors.h"
#include "fleet/scheduling/configuration.h"
#include "fleet/scheduling/decision_groups.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/prioritizers.h"
#include "fleet/scheduling/rejections.h"
#include "kube/base/clock.h"

namespace fleet {

struct ScheduleOptions {
  bool ignore_spread = false;  // spread constraints have no effect, as in OCM
};

struct FilterResult {
  std::string name;  // "Predicate", then "Predicate,TaintToleration"
  Clusters clusters;
};

// The condition PlacementSatisfied.
struct Satisfied {
  bool status = false;
  std::string_view reason;  // a constant of names.h
  std::string message;
};

// Pointers to clusters are valid as long as the Fleet is unchanged.
struct Scheduled {
  // If set, the decisions stay unchanged, and all else is empty.
  std::optional<Misconfigured> misconfigured;

  std::vector<DecisionGroup> groups;  // at least one
  int64_t selected = 0;
  int64_t unscheduled = 0;  // wanted, but not there; without numberOfClusters all are wanted
  Satisfied satisfied;
  // The first moment at which time alone may change the result: a toleration of a selected cluster
  // ends, or a score that was used expires.
  std::optional<kube::WallTime> requeue_at;
  std::vector<std::string> warnings;

  // How it came about.
  std::vector<std::string> sets;  // bound ones that the Placement names, or all bound ones
  std::vector<FilterResult> filters;
  Rejections rejections;
  Clusters feasible;                            // passed all filters
  std::vector<PrioritizerResult> prioritizers;  // scores of each of `feasible`
  std::vector<int64_t> totals;                  // of each of `feasible`
  std::vector<size_t> picks;                    // indexes in `feasible`, in the order of picking
};

// `own`: the entries of this Placement's decisions now, which are part of `fleet.decisions` too.
Scheduled Schedule(const Placement& placement, const DecisionCounts& own, const Fleet& fleet,
                   kube::WallTime now, CelSelectors& cel, const ScheduleOptions& options = {});

}  // namespace fleet
