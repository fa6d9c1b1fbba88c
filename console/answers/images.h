// SPDX-License-Identifier: Apache-2.0
// What the cluster knows of images.
#pragma once

#include "console/answers/question.h"

namespace console {

// ?search, a part of the name -> {"images": [{"image", "digest", "platforms": [...], "read",
// "scope"}], "total": how many have it, "findings": [{"image", "digest", "architecture",
// "evidence", "namespace", "ignored", "seen"}], "unread"}
kube::Async<std::string> AnswerImages(const Question& question);

}  // namespace console
