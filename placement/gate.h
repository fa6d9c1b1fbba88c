// SPDX-License-Identifier: Apache-2.0
// Gates of a pod in the cluster: is one there, take it away. Which pods get one in the first place:
// gating.h.
#pragma once

#include <string_view>

#include "kube/types/core.pb.h"

namespace placement {

// True if `gate` is in the pod's spec.schedulingGates.
bool HasGate(const kube::core::Pod& pod, std::string_view gate);

// Takes `gate` away, however often it is there; other gates stay, in their order. True if it was
// there.
bool RemoveGate(kube::core::Pod& pod, std::string_view gate);

}  // namespace placement
