// SPDX-License-Identifier: Apache-2.0
// The smallest JSON Patch (RFC 6902) that applies a decision to a new pod; "" for no change.
#pragma once

#include <string>
#include <string_view>

#include "placement/gating.h"
#include "webhook/pod_review.h"

namespace webhook {

// Adds the cluster gate, the label `scheduling-gate` (gated, or not-set if the pod is ignored) and
// the labels `node-affinity: not-set` and `preferred-node-affinity: not-set`, which the controllers
// change when they add a requirement or a preference. Removes `local-scheduling-gate: removed`
// unless the pod has the local gate: the pod is a copy of another one, and no shard has decided its
// preferences. Of a pod that was placed before in the same admission, and is gated now, it removes
// `placed-at-creation`, and leaves the labels of what was set.
std::string ClusterPatch(const PodReview& review, placement::GateDecision decision);

// Adds the local gate, the label `local-scheduling-gate: gated`, and `entry` (CONFIG or
// CONFIG/RULE) to the annotation `local-configs`. The API server makes one call for each
// PodPlacementConfig that selects the pod, and for each of its rules that matches; each call has
// the pod with the patch of the one before.
std::string LocalPatch(const PodReview& review, placement::GateDecision decision,
                       std::string_view entry);

}  // namespace webhook
