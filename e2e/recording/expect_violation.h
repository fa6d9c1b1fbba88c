// SPDX-License-Identifier: Apache-2.0
// What a flow does on purpose although a rule forbids it: such violations of this flow are counted
// and not reported. Narrow: with the rule, a part of the text and the object.
//
//   ExpectViolation({.rule = "I5", .text = "admission changed /spec/containers", .object =
//                    "pods " + scene().ns(), .why = "a mirror webhook of this flow"});
#pragma once

#include <vector>

#include "e2e/recording/judge.h"

namespace e2e {

// For the flow that runs.
void ExpectViolation(Expected expected);
// What the flow that has ended expected.
std::vector<Expected> TakeExpectedViolations();

}  // namespace e2e
