// SPDX-License-Identifier: Apache-2.0
// The scheduling gates of other controllers, and what a pod with such gates may never show.
#pragma once

#include <string>
#include <vector>

#include "e2e/framework/flow.h"
#include "e2e/framework/pod_history.h"

namespace e2e {

// Their names, in the order of the pod.
std::vector<std::string> OtherGatesOf(const Json& pod);

// Whether the write changed a pod as the first one for a pod with gates of other controllers does:
// it may set preferences and requirement, once, and the cluster gate stays.
bool IsFirstDecision(const Json& before, const Json& after);

// The cluster gate was removed, or tolerations changed, while a gate of another controller was
// there.
PodRule OtherGatesNotAwaited();

}  // namespace e2e
