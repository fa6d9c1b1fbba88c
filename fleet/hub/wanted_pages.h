// SPDX-License-Identifier: Apache-2.0
// WantedPages: what a pass wants to be stored, for the plan of the writes and for the status. Pure.
#pragma once

#include <vector>

#include "fleet/api/placement.h"
#include "fleet/hub/decision_writes.h"
#include "fleet/scheduling/schedule.h"

namespace fleet {

struct WantedDecisions {
  std::vector<WantedPage> pages;
  // The same as status.decisionGroups.
  std::vector<DecisionGroupStatus> groups;
};

WantedDecisions WantedOf(const Placement& placement, const std::vector<DecisionGroup>& groups);

// Whether `wanted` has the clusters of `stored`, each in a group of the same name, and as many on
// each page: then only scores, or the order by scores, have changed.
bool OnlyScoresDiffer(const std::vector<StoredPage>& stored, const std::vector<WantedPage>& wanted);

}  // namespace fleet
