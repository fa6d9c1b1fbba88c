// SPDX-License-Identifier: Apache-2.0
// The events about a Placement after its decisions were written: of each kind at most one in a
// pass. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kube/types/resource.h"

namespace fleet {

struct DecisionEvent {
  bool warning = false;
  std::string reason;
  std::string message;

  bool operator==(const DecisionEvent&) const = default;
};

// What one pass has done.
struct DecisionChanges {
  // Names of PlacementDecisions.
  std::vector<std::string> created;
  std::vector<std::string> updated;
  std::vector<std::string> deleted;
  // Why scores are missing, such as expired ones: the event DecisionUpdate is a warning then, and
  // without one there is the event ScoresExpired, unless the last pass had the same warnings.
  std::vector<std::string> warnings;
  bool warned_before = false;
  // The clusters' totals, in the order in which the event lists them.
  std::vector<std::pair<std::string, int64_t>> totals;
};

// Without a written PlacementDecision there is at most ScoresExpired. Without totals there is no
// ScoreUpdate.
std::vector<DecisionEvent> EventsOf(const kube::ObjectKey& placement,
                                    const DecisionChanges& changes);

}  // namespace fleet
