// SPDX-License-Identifier: Apache-2.0
// The answers of `kubectl placement why` and `status`.
#pragma once

#include "console/answers/question.h"

namespace console {

// ?namespace, for all; plugin/status.
kube::Async<std::string> AnswerStatus(const Question& question);

// ?namespace&name
kube::Async<std::string> AnswerWhyPod(const Question& question);
kube::Async<std::string> AnswerWhyConfig(const Question& question);
// ?kind&namespace&name
kube::Async<std::string> AnswerWhyWorkload(const Question& question);

}  // namespace console
