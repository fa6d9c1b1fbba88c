// SPDX-License-Identifier: Apache-2.0
// The parsers of untrusted bytes. Each target ends the process if its parser violates the contract
// in the parser's header.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace fuzz {

// Data of registries, pull secrets, and the configuration files of inspection.
std::vector<FuzzTarget> InspectionTargets();
// Data of the API server and its users.
std::vector<FuzzTarget> ApiTargets();
// Data of a fleet's hub and of its member clusters.
std::vector<FuzzTarget> FleetTargets();
// Expressions of Placements, and what their evaluator answers.
std::vector<FuzzTarget> CelTargets();

}  // namespace fuzz
