// SPDX-License-Identifier: Apache-2.0
// What an operand needs to inspect images as the operator's options say: files of the nodes,
// registries of clouds with its own identity, and the proxy environment.
#pragma once

#include "operator/objects/operand.h"
#include "operator/objects/options.h"

namespace operator_ {

// Adds its arguments, folders, environment, and the annotations and labels of its identity.
void AddInspectionArguments(Operand& operand, const OperandOptions& options);

}  // namespace operator_
