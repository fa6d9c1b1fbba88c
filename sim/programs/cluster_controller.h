// SPDX-License-Identifier: Apache-2.0
// The cluster controller as a process of the simulation: what cluster-controller/main.cc makes of
// its parts, without sockets and files.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "sim/base/process.h"
#include "sim/cluster/registries.h"

namespace sim {

struct ClusterControllerOptions {
  // The operator's namespace.
  std::string ns;
  // Unique among the replicas.
  std::string pod_name;
  // Outlives the process.
  Registries* registries;
};

kube::Async<> RunClusterController(Life& life, ClusterControllerOptions options);

}  // namespace sim
