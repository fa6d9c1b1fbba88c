// SPDX-License-Identifier: Apache-2.0
// WhyPod: the answer to `kubectl placement why pod`. Pure.
#pragma once

#include <string>

#include "kube/types/unstructured.h"
#include "plugin/pod/evidence.h"
#include "plugin/text/style.h"

namespace plugin {

// For people, with a line end.
std::string WhyPod(const PodEvidence& evidence, Style style = {});
// The same for programs: state, story, images, preferences, configs, policies, nodes, unread,
// cause.
kube::Json WhyPodAsJson(const PodEvidence& evidence);

}  // namespace plugin
