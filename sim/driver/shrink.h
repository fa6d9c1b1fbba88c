// SPDX-License-Identifier: Apache-2.0
// Makes a plan that fails smaller: delta debugging over its steps, then over their parameters.
//
//   Shrunk shrunk = Shrink(plan, [](const Plan& plan) {
//     return BreaksRule(PlayIsolated(plan), "I4");
//   }, {.runs = 300});
//
// Pure but for `fails`.
#pragma once

#include <functional>

#include "sim/driver/plan.h"

namespace sim {

struct ShrinkBudget {
  // How often `fails` may be called.
  int runs = 300;
};

struct Shrunk {
  Plan plan;
  // How often `fails` was called.
  int runs = 0;
};

// `plan` fails. The result does, too, and is one that ParsePlan() accepts if `plan` is.
Shrunk Shrink(Plan plan, const std::function<bool(const Plan&)>& fails, ShrinkBudget budget = {});

// Values that are simpler than a parameter's, the simplest first: an empty list, a half of it, it
// without one item; an object without one member; false; numbers closer to 1.
std::vector<kube::Json> SimplerThan(const kube::Json& value);

}  // namespace sim
