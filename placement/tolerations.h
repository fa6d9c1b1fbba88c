// SPDX-License-Identifier: Apache-2.0
// Tolerations: by the plugin architectureTolerations, a pod tolerates the taints
// KEY=ARCHITECTURE:EFFECT of the architectures that its images support.
//
// A toleration only admits a pod to tainted nodes. The requirement limits the pod's architectures,
// and in a term with an architecture of its own the user does. So the pod gets the tolerations of
// all supported architectures, whatever such terms say, and none of any other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/architecture_tolerations.h"
#include "api/pod_placement_config.h"
#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/matching_configs.h"

namespace placement {

// For each architecture and each effect.
inline constexpr size_t kMaxTolerations = kMaxArchitectures * api::kTaintEffects.size();

// The first of `configs` with the plugin, enabled or not: it decides for the pod. nullptr: none has
// it, so the ClusterPodPlacementConfig decides.
const api::PodPlacementConfig* ConfigForTolerations(const MatchingConfigs& configs);

// Appends the tolerations of `plugin` for the architectures of `supported`, except those of taints
// that the pod already tolerates. At most kMaxTolerations; none if the plugin is disabled. A second
// call changes nothing.
// Returns: what was added, as "arm64:NoSchedule".
std::vector<std::string> ApplyTolerations(kube::core::Pod& pod,
                                          const api::ArchitectureTolerations& plugin,
                                          const ArchitectureSet& supported);

}  // namespace placement
