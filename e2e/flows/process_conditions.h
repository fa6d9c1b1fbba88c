// SPDX-License-Identifier: Apache-2.0
// Conditions on our programs as processes of this machine.
#pragma once

#include <string>

#include "e2e/framework/flow.h"

namespace e2e {

// No process of `program` runs for the scene's namespace: one that was told to end works on until
// it has.
Condition NoProcessOf(const std::string& program);

// At least `count` pods of the scene are out of their gates.
Condition UngatedSoFar(size_t count);

}  // namespace e2e
