// SPDX-License-Identifier: Apache-2.0
// PlaceAtCreation: places a pod before it is stored, if its images are known then. It sets what
// ReleaseCluster() would set, and the pod needs no gate. Pure.
//
//   if (PlaceAtCreation(pod, decision)) return PatchOf(pod);   // else: gate it
//
// Other webhooks may change the pod after this one; then the API server calls this one again. The
// images may be others by then: what the pod requires is narrowed (narrowing.h).
#pragma once

#include "kube/types/core.pb.h"
#include "placement/release.h"

namespace placement {

// For a pod that would be gated, or that WasPlacedAtCreation(). `decision` has the platforms,
// unless the pod takes no requirement. Sets the label api::kPlacedAtCreationLabel, too.
//
// False, and `pod` is to be dropped, if it has gates, or if its author would get an event that is
// more than a confirmation: the cluster controller records it once the pod is stored.
bool PlaceAtCreation(kube::core::Pod& pod, ClusterDecision decision);

// The same for a pod with the local gate, which it keeps. If it has the cluster gate, that is
// dropped. The shard sets the preferences of PodPlacementConfigs before the cluster's, and their
// tolerations (release.h). So it is false if the cluster has tolerations: it is not known yet
// whether they are for this pod.
bool PlaceBehindLocalGate(kube::core::Pod& pod, const ClusterDecision& decision);

// True for a pod that was placed before in the same admission. (Or for a copy of such a pod, of
// which what it requires counts as its author's.)
bool WasPlacedAtCreation(const kube::core::Pod& pod);

}  // namespace placement
