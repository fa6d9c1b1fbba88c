// SPDX-License-Identifier: Apache-2.0
// The cluster of a benchmark: a real control plane in its own network namespace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"

namespace benchmarks {

struct ClusterOptions {
  // Whether the API server logs the requests of ServiceAccounts.
  bool audit = false;
  // More arguments of kube-apiserver.
  std::vector<std::string> api_server_args = {};
};

// Starts the control plane with the programs of $KUBEBUILDER_ASSETS, without the operator. Data and
// logs are in `folder`, which is emptied first. Errors: kInvalid if the variable is not set or the
// folder cannot be created; those of the control plane.
kube::Result<std::unique_ptr<e2e::ProcessCluster>> StartCluster(const std::string& folder,
                                                                ClusterOptions options = {});

}  // namespace benchmarks
