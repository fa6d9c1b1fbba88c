// SPDX-License-Identifier: Apache-2.0
// The smallest JSON Patch (RFC 6902) that does to a new pod what was decided; "" where nothing is
// to be done.
#pragma once

#include <string>
#include <string_view>

#include "placement/gating.h"
#include "webhook/pod_review.h"

namespace webhook {

// Gate, label `scheduling-gate` (gated, or not-set on a pod that is seen and ignored) and label
// `node-affinity: not-set`, which the cluster controller changes once there is a requirement.
std::string ClusterPatch(const PodReview& review, placement::GateDecision decision);

// Gate, label `local-scheduling-gate: gated`, and `config` in the annotation `local-configs`: each
// PodPlacementConfig that selects the pod makes a call of its own, and the next one sees what the
// last one did.
std::string LocalPatch(const PodReview& review, placement::GateDecision decision,
                       std::string_view config);

}  // namespace webhook
