// SPDX-License-Identifier: Apache-2.0
// I8: the operator's own pods are never gated, and meet the `restricted` Pod Security Standard.
#pragma once

#include "sim/checker/violation.h"
#include "sim/checker/writer.h"

namespace sim::checker {

// A pod with the operand's label has no gate of the operator, unless its author has sent it with
// one. What the commit does not say was sent counts as added.
void CheckOperandPod(const Commit& commit, Violations& violations);

// Each Deployment that the operator writes gives its pods the operand's label and a restricted
// security context.
void CheckOperandTemplate(const Commit& commit, const Writer& writer, Violations& violations);

}  // namespace sim::checker
