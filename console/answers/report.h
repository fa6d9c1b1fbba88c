// SPDX-License-Identifier: Apache-2.0
// What could run on another architecture: the answer of `kubectl placement report`. No registry is
// asked: a console must not call addresses that users choose.
#pragma once

#include "console/answers/question.h"

namespace console {

// ?namespace&architecture&selector&owner; with only=sums, no lines of workloads
kube::Async<std::string> AnswerReport(const Question& question);

}  // namespace console
