// SPDX-License-Identifier: Apache-2.0
// Undeploy: removes the operator from a cluster, for `bazel run //operator:undeploy`. It prints a
// line for each step and can be repeated.
#pragma once

#include <chrono>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"
#include "operator/teardown/late_pods.h"

namespace operator_ {

struct UndeployOptions {
  // Timeout until all objects are deleted.
  std::chrono::seconds timeout{180};
  // How long after gating has stopped API servers may store a pod with a gate.
  std::chrono::seconds stored_late = kStoredLate;
};

// Deletes all PodPlacementConfigs, then the ClusterPodPlacementConfig, waits until the operator has
// torn down its operands, then deletes `objects` in reverse order. If no operator is available, it
// ungates the pods and deletes the operands itself. At last it ungates the pods that API servers
// store late, as nothing else is left that could. A pod whose write is refused delays no step.
// Errors: the API server's; kDeadlineExceeded with the objects that were not deleted and the pods
// that could not be ungated.
kube::Async<> Undeploy(kube::Client& client, kube::Clock& clock,
                       std::vector<kube::Unstructured> objects, UndeployOptions options);

}  // namespace operator_
