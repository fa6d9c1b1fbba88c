// SPDX-License-Identifier: Apache-2.0
// MonitorObjects(): the monitor of each node, in a namespace of its own. Its pods may load BPF
// programs into the kernel of the node, which the Pod Security Standard of the operator's namespace
// forbids, and there are more of them than the quota there allows. The ClusterRoles that are bound
// are in operator/manifests.
#pragma once

#include "kube/types/unstructured.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"

namespace exec_format {

// In the order of creation: the namespace first.
operator_::DesiredObjects MonitorObjects(const operator_::OperandOptions& options);

}  // namespace exec_format
