// SPDX-License-Identifier: Apache-2.0
// PlacementCel: CEL as the hub needs it: what evaluates may not be ready, or may not answer, and
// then there is no decision.
#pragma once

#include "fleet/scheduling/cel_selectors.h"

namespace fleet {

class PlacementCel {
 public:
  virtual ~PlacementCel() = default;

  virtual CelSelectors& selectors() = 0;
  // Before a pass for a Placement with CEL: whether expressions can be evaluated. The first call
  // starts what that needs.
  virtual bool Prepare() = 0;
  // Whether a question was not answered since the last call: a decision that was made meanwhile
  // must not be used.
  virtual bool TakeUnanswered() = 0;
};

}  // namespace fleet
