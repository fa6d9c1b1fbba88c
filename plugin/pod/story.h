// SPDX-License-Identifier: Apache-2.0
// The story of a pod: what has happened to it, in the order of time. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "plugin/pod/evidence.h"

namespace plugin {

struct StoryLine {
  kube::WallTime at;
  std::string text;  // one line
};

// The creation, the events of all components, and the binding to a node. Events that the API server
// has forgotten, after an hour by default, are not in it.
std::vector<StoryLine> TellStory(const PodEvidence& evidence);

// Where the pod is in its life: "gated", "not scheduled", ... for the first line.
std::string DescribeState(const PodEvidence& evidence);

}  // namespace plugin
