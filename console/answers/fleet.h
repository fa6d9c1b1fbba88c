// SPDX-License-Identifier: Apache-2.0
// The clusters of a fleet's hub, and what its Placements and rollouts do with them.
#pragma once

#include "console/answers/question.h"

namespace console {

// ?namespace, of Placements and rollouts -> {"clusters": [{"name", "available": true, false or null
// if that is not known, "reason", "architectures", "labels", "taints"}], "placements":
// [{"namespace", "name", "selected": the first, "selectedCount", "wanted", "conditions"}],
// "rollouts": [{"namespace", "name", "placement", "clusters", "applied", "failed", "problems"}],
// "leftOut", "unread"}
kube::Async<std::string> AnswerFleet(const Question& question);

// ?namespace&name of a Placement -> {"clusters": [{"name", "selected", "score", "why"}], "error":
// why there are none, "unread"}
kube::Async<std::string> AnswerWhyPlacement(const Question& question);

}  // namespace console
