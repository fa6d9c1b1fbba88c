// SPDX-License-Identifier: Apache-2.0
// The scheduling gates of a pod that the API server has stored: find one, drop one. Which pods get
// a gate is decided in gating.h.
#pragma once

#include <string_view>

#include "kube/types/core.pb.h"

namespace placement {

// True if `gate` is in the pod's spec.schedulingGates.
bool HasGate(const kube::core::Pod& pod, std::string_view gate);

// Removes every occurrence of `gate` and sets the gate's label, whose key is the gate's name, to
// "removed". Other gates keep their order. Returns: false if the pod does not have `gate`; the pod
// is then unchanged.
bool DropGate(kube::core::Pod& pod, std::string_view gate);

}  // namespace placement
