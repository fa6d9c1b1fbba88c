// SPDX-License-Identifier: Apache-2.0
// Which gated pods are not ours to place, so that their gates are dropped and nothing is set: no
// webhook of ours gates them, but anybody who makes a pod may.
#pragma once

#include <string_view>

#include "kube/types/core.pb.h"

namespace placement {

// True by what the pod itself says: pinned to a node or to the control plane, owned by a DaemonSet,
// an operand of ours, or in a namespace of the system or of the operator (`operator_namespace`;
// empty where the caller never sees it).
bool IsIgnored(const kube::core::Pod& pod, std::string_view operator_namespace);

// False if only a look at the pod's namespace tells whether the cluster's configuration selects it:
// the gates that the pod has are not from our webhooks, which label what they gate.
bool IsGatedByWebhook(const kube::core::Pod& pod);

}  // namespace placement
