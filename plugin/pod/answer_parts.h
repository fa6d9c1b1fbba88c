// SPDX-License-Identifier: Apache-2.0
// The parts that the answers about pods and about workloads have in common, for people and as JSON.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/types/unstructured.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/evidence.h"
#include "plugin/text/style.h"

namespace plugin {

// The lines "why" and, if something is to be done, "next".
std::string Say(const Cause& cause, Style style = {});
kube::Json AsJson(const Cause& cause);

// A line for each part.
std::string Say(const std::vector<Unread>& unread, Style style = {});
kube::Json AsJson(const std::vector<Unread>& unread);

}  // namespace plugin
