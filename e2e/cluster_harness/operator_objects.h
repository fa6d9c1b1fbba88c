// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "e2e/cluster_harness/process_cluster.h"
#include "kube/base/error.h"

namespace e2e {

struct OperatorObjectsOptions {
  // Without those of the operator itself, which are not left behind while it runs.
  bool operator_runs = false;
  // With everything that its manifests have, the CRDs too.
  bool with_manifests = false;
};

// The objects in the cluster that the operator or its manifests have created: "Deployment NS/NAME,
// ". Errors: those of the lists.
kube::Result<std::string> ObjectsOfOperator(ProcessCluster& cluster,
                                            OperatorObjectsOptions options);

}  // namespace e2e
