// SPDX-License-Identifier: Apache-2.0
// SoakedProcess: a process of the run, of the operator's programs or of the fleet's.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/soak/fleet_load.h"
#include "kube/http/pool.h"

namespace e2e {

struct SoakedProcess {
  // What it does: "cluster webhook", "local webhook" and "policy webhook" are one binary.
  std::string program;
  // NAMESPACE/NAME of its pod, or the program. Stays when the process is restarted.
  std::string name;
  pid_t pid = 0;
  int restarts = 0;
  // A pod's readiness; always true for a program of the fleet.
  bool ready = false;
  std::string log_file;
  // Where it serves metrics, to the admin's token.
  kube::Origin metrics;
};

// All that run now.
std::vector<SoakedProcess> ProcessesOf(ProcessCluster& cluster, const FleetLoad& fleet);
// The process of that name; nullopt while none runs.
std::optional<SoakedProcess> FindProcess(ProcessCluster& cluster, const FleetLoad& fleet,
                                         const std::string& name);

}  // namespace e2e
