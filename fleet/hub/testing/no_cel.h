// SPDX-License-Identifier: Apache-2.0
// NoCel: for tests without CEL. No expression compiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/hub/placement_cel.h"
#include "fleet/scheduling/cel_selectors.h"

namespace fleet {

class NoCel final : public PlacementCel, public CelSelectors {
 public:
  CelSelectors& selectors() override { return *this; }
  bool Prepare() override { return prepared; }
  bool TakeUnanswered() override { return unanswered; }

  std::optional<std::string> Check(const std::string&) override { return "no CEL here"; }
  Verdict Matches(const std::vector<std::string>&, const std::string&) override { return {}; }

  bool prepared = true;
  bool unanswered = false;
};

}  // namespace fleet
