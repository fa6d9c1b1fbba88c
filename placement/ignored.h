// SPDX-License-Identifier: Apache-2.0
// Which gated pods are not placed by architecture. The webhooks do not gate such a pod, but the
// user who creates it can. Its gates are dropped and nothing else is set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

// True if the pod itself shows it: bound to a node, selecting the control plane, owned by a
// DaemonSet without having been gated by a webhook, an operand, with the label api::kExcludeLabel,
// or in kube-* or `operator_namespace` (empty if the caller never sees that namespace).
bool IsIgnored(const kube::core::Pod& pod, std::string_view operator_namespace);

// True if the pod opts out, by the label api::kExcludeLabel or by its scheduler. Features that an
// administrator enforces apply to it all the same. `excluded_schedulers`: of the
// ClusterPodPlacementConfig.
bool OptsOut(const kube::core::Pod& pod, const std::vector<std::string>& excluded_schedulers);

// True if a webhook of the operator gated the pod: webhooks label the pods that they gate. For
// other pods, the caller checks whether the ClusterPodPlacementConfig selects the pod's namespace.
bool IsGatedByWebhook(const kube::core::Pod& pod);

}  // namespace placement
