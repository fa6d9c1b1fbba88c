// SPDX-License-Identifier: Apache-2.0
// Who the user is, and which namespaces and pages there are.
#pragma once

#include "console/answers/question.h"

namespace console {

// {"user", "version", "namespaces": [NAME...], "namespacesUnread": why there are none, "fleet"}
kube::Async<std::string> AnswerSession(const Question& question);

}  // namespace console
