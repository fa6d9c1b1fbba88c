// SPDX-License-Identifier: Apache-2.0
// Conditions on the operator's programs as processes of this machine.
#pragma once

#include <string>

#include "e2e/framework/flow.h"

namespace e2e {

// No process of `program` runs for the scene's namespace. A process works until it has ended, which
// is after its pod was deleted.
Condition NoProcessOf(const std::string& program);

// At least `count` pods of the scene are ungated.
Condition UngatedSoFar(size_t count);

}  // namespace e2e
