// SPDX-License-Identifier: Apache-2.0
// Plays a plan: its steps, then the end of all faults, time for everything to be done, new pods
// that must be placed, and a while in which nothing may be written. The checker judges all of it.
//
//   Outcome outcome = Play(MakePlan(7));
//
// A run leaves memory behind (sim/base/process.h): isolated.h plays it in a process of its own.
#pragma once

#include "sim/driver/outcome.h"
#include "sim/driver/plan.h"
#include "sim/driver/trace.h"

namespace sim {

// `plan` is one that ParsePlan() accepts. `tell`: gets its steps and commits, unless it is empty.
Outcome Play(const Plan& plan, const Tell& tell = {});

}  // namespace sim
