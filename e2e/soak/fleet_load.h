// SPDX-License-Identifier: Apache-2.0
// FleetLoad: a hub and an agent on the run's API server, which is both hub and member, and a fleet
// whose scores change. The agent publishes the nodes and pods of the run; the other clusters of the
// fleet have no agent, and scores that are set here. A FleetPodPlacement gives the member a
// PodPlacementConfig, which changes.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "kube/base/async.h"
#include "kube/http/pool.h"

namespace e2e {

class FleetLoad {
 public:
  struct Program {
    ProcessSpec spec;
    std::unique_ptr<ChildProcess> process;
    int restarts = 0;
    kube::Origin metrics;
  };
  struct Options {
    // For logs and kubeconfigs.
    std::string folder;
    // An existing namespace of the member, which gets the PodPlacementConfig.
    std::string member_namespace;
    // Between two changes.
    std::chrono::milliseconds change_every{2000};
    uint64_t seed = 1;
  };

  FleetLoad(ProcessCluster& cluster, Options options);

  // Creates CRDs and objects, and starts hub and agent. Blocks.
  kube::Result<> Start();
  // Restart programs that ended; change scores. Until cancelled.
  boost::asio::awaitable<void> Supervise();
  boost::asio::awaitable<void> Change();

  // "hub" and "agent".
  const std::map<std::string, Program>& programs() const { return programs_; }
  // How often a score or the FleetPodPlacement was changed.
  int changes() const { return changes_; }

 private:
  kube::Result<> CreateCrds();
  kube::Result<> CreateObjects();
  kube::Result<> StartPrograms();
  kube::Async<> ChangeOne(int number);
  int Random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  ProcessCluster& cluster_;
  Options options_;
  std::map<std::string, Program> programs_;
  std::mt19937 random_;
  int changes_ = 0;
};

}  // namespace e2e
