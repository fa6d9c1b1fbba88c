// SPDX-License-Identifier: Apache-2.0
// Whether a Placement can be scheduled at all. One that cannot keeps its decisions: a typo must not
// evict a fleet.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "fleet/api/placement.h"
#include "fleet/scheduling/cel_selectors.h"
#include "fleet/scheduling/prioritizers.h"

namespace fleet {

struct Misconfigured {
  std::string plugin;  // "Predicate", "TaintToleration", "Prioritizer", "DecisionStrategy", ...
  std::string why;     // at most 1,000 bytes

  std::string Message() const { return plugin + ":" + why; }
};

// The first thing that is wrong, or the prioritizers of the Placement. It does not depend on
// clusters.
std::variant<Prioritizers, Misconfigured> CheckConfiguration(const Placement& placement,
                                                             CelSelectors& cel);

}  // namespace fleet
