// SPDX-License-Identifier: Apache-2.0
// The PodPlacementConfigs, and what one that is not stored yet would do.
#pragma once

#include "console/answers/question.h"

namespace console {

// ?namespace -> {"configs": [{"namespace", "name", "priority", "selector", "preferences":
// [{"architecture", "weight"}], "gatedBy", "problems": [...]}], "unread"}
kube::Async<std::string> AnswerConfigs(const Question& question);

// ?namespace, with the manifest of a PodPlacementConfig as body: whom it would select, as
// `kubectl placement simulate` says it, and "unread".
kube::Async<std::string> AnswerSimulate(const Question& question);

}  // namespace console
