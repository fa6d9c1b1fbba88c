// SPDX-License-Identifier: Apache-2.0
// Undeploy: what `bazel run //operator:undeploy` does on a cluster. It prints a line a step on
// standard output and can be repeated.
#pragma once

#include <chrono>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct UndeployOptions {
  // For everything to be gone.
  std::chrono::seconds timeout{180};
};

// Deletes all PodPlacementConfigs, then the ClusterPodPlacementConfig, waits until the operator has
// ungated every pod and taken its operands away, then deletes `objects` in reverse order. Where no
// operator answers, it ungates the pods and removes the operands itself. A pod whose write is
// refused holds up nothing. Errors: the API's; kDeadlineExceeded names what was still there, and
// the pods that could not be ungated.
kube::Async<> Undeploy(kube::Client& client, kube::Clock& clock,
                       std::vector<kube::Unstructured> objects, UndeployOptions options);

}  // namespace operator_
