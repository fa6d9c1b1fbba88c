// SPDX-License-Identifier: Apache-2.0
// The cluster of a benchmark: a real control plane, in a network of this process alone.
#pragma once

#include <memory>
#include <string>

#include "e2e/cluster_harness/process_cluster.h"

namespace benchmarks {

// Starts the control plane whose programs are in $KUBEBUILDER_ASSETS, without the operator. Work
// and logs are in `folder`, which is emptied before. Errors: kInvalid if the variable or the folder
// is of no use; those of the control plane.
kube::Result<std::unique_ptr<e2e::ProcessCluster>> StartCluster(const std::string& folder);

}  // namespace benchmarks
