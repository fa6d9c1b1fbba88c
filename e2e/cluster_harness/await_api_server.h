// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "e2e/cluster_harness/control_plane.h"
#include "e2e/framework/cluster.h"
#include "kube/base/error.h"

namespace e2e {

// Waits until /readyz of `plane`, which `cluster` is connected to, succeeds; cluster.timeout() at
// most. Starts controllers again that did not wait for it. Errors: kUnavailable if another program
// of the control plane has ended; else that of the last call.
kube::Result<> AwaitApiServer(Cluster& cluster, ControlPlane& plane);

}  // namespace e2e
