// SPDX-License-Identifier: Apache-2.0
// A second implementation of scheduling for tests: each rule of the specification one by one, with
// the simplest and slowest code. It shares only types with the real one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/cel_selectors.h"
#include "fleet/scheduling/fleet.h"
#include "kube/base/clock.h"

namespace fleet {

struct ModelResult {
  std::string misconfigured;  // the plugin, or ""
  std::string reason;         // of the condition PlacementSatisfied
  std::vector<std::string> matching;
  std::vector<std::string> feasible;
  std::map<std::string, std::map<std::string, int64_t>> scores;  // prioritizer -> cluster -> score
  std::map<std::string, int64_t> totals;
  std::vector<std::string> picks;
  int64_t unscheduled = 0;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  size_t warnings = 0;
  std::optional<kube::WallTime> requeue_at;
};

ModelResult RunModel(const Placement& placement, const DecisionCounts& own, const Fleet& fleet,
                     kube::WallTime now, CelSelectors& cel);

}  // namespace fleet
