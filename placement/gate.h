// SPDX-License-Identifier: Apache-2.0
// The scheduling gates of a pod that the API server has stored: find one, drop one. Which pods get
// a gate is decided in gating.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

// True if `gate` is in the pod's spec.schedulingGates.
bool HasGate(const kube::core::Pod& pod, std::string_view gate);

// The gates of other controllers, as "kueue.x-k8s.io/admission", in the order of the pod.
std::vector<std::string> OtherGates(const kube::core::Pod& pod);

// Removes every occurrence of `gate` and sets the gate's label, whose key is the gate's name, to
// "removed". Other gates keep their order. Returns: false if the pod does not have `gate`; the pod
// is then unchanged.
bool DropGate(kube::core::Pod& pod, std::string_view gate);

}  // namespace placement
