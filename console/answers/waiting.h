// SPDX-License-Identifier: Apache-2.0
// The pods that have no node yet, with what each waits for.
#pragma once

#include "console/answers/question.h"

namespace console {

// ?namespace -> {"now", "pods": [{"namespace", "name", "created", "gates": [...], "cause"}],
// "leftOut": how many are not listed, "unread"}
kube::Async<std::string> AnswerWaiting(const Question& question);

}  // namespace console
