// SPDX-License-Identifier: Apache-2.0
// WhyNeverGated: why the operator leaves a pod alone. Pure.
#pragma once

#include <optional>

#include "plugin/pod/cause.h"
#include "plugin/pod/evidence.h"

namespace plugin {

// Of the pod as it is created: on which node it is now does not count. nullopt: it is gated or
// placed, or the ClusterPodPlacementConfig may not be read.
std::optional<Cause> WhyNeverGated(kube::core::Pod pod, const NamespaceEvidence& around);

}  // namespace plugin
