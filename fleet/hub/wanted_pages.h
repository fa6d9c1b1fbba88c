// SPDX-License-Identifier: Apache-2.0
// WantedPages: what a pass wants to be stored, for the plan of the writes and for the status. Pure.
#pragma once

#include <string_view>
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

// Moves clusters between the pages of their group: those that stay selected stay on their stored
// page, and the others fill the gaps. Without it, one cluster that leaves a group of 5,000 shifts
// those behind it by one place, and up to 50 PlacementDecisions are written instead of one. A group
// has as many pages as before, each in the order of names. A group of at most two pages is not
// changed: it is cut by name, as OCM does it. Not for pages in the order of scores.
void KeepPages(std::string_view placement, const std::vector<StoredPage>& stored,
               std::vector<WantedPage>& pages);

// Whether `wanted` has the clusters of `stored`, each in a group of the same name, and as many on
// each page: then only scores, or the order by scores, have changed.
bool OnlyScoresDiffer(const std::vector<StoredPage>& stored, const std::vector<WantedPage>& wanted);

}  // namespace fleet
