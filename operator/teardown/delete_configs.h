// SPDX-License-Identifier: Apache-2.0
// DeleteConfigs: deletes all configs and waits until the operator has torn down what they asked
// for. It comes before the removal of the operator, whose permissions the teardown needs.
#pragma once

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace operator_ {

// Deletes all PodPlacementConfigs, then the ClusterPodPlacementConfig, and waits until the operator
// has ungated every pod, deleted its operands and removed the finalizers. Prints a line for each
// config to stdout. Does nothing where the CRDs do not exist. Errors: the API server's;
// kDeadlineExceeded if the ClusterPodPlacementConfig is still there at `deadline`.
kube::Async<> DeleteConfigs(kube::Client& client, kube::Clock& clock, kube::TimePoint deadline);

}  // namespace operator_
