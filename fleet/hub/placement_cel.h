// SPDX-License-Identifier: Apache-2.0
// PlacementCel: CEL as the hub needs it: what is not known is found out between passes, and what
// evaluates may not be ready or may not answer; then there is no decision.
#pragma once

#include <chrono>
#include <string>

#include "fleet/cel/questions.h"
#include "fleet/scheduling/cel_selectors.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace fleet {

// How long to wait before PlacementCel::Prepare() or Busy() is asked again, or a pass is made whose
// questions were answered, but changed meanwhile.
inline constexpr std::chrono::milliseconds kCelRetry{200};
// Passes with questions in a row, normally two: the expressions, then the clusters.
inline constexpr int kMaxCelPasses = 4;

class PlacementCel {
 public:
  virtual ~PlacementCel() = default;

  // Before the passes for a Placement with CEL: whether expressions can be evaluated. The first
  // call starts what that needs.
  virtual bool Prepare() = 0;
  // Whether questions of this namespace would not be answered now: a pass would only be repeated.
  virtual bool Busy(const std::string& ns) const = 0;
  // A pass for a Placement of `ns` begins. Returns what it reads, valid until the next pass.
  virtual CelSelectors& Begin(const std::string& ns) = 0;
  // What the pass asked and is not known. If there is any, its result must not be used.
  virtual cel::Questions TakeQuestions() = 0;
  // Why a selector of the pass is refused, or "". If one is, the result must not be used.
  virtual std::string TakeRefusal() = 0;
  // Finds out what is not known. Returns: zero, or after which time to go on.
  // Errors: the evaluator's.
  virtual kube::Async<kube::Duration> Answer(cel::Questions questions) = 0;
};

}  // namespace fleet
