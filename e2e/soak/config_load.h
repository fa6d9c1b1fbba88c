// SPDX-License-Identifier: Apache-2.0
// ConfigLoad: the configs of the run: creates them, edits them, and rotates certificates.
//
// Edits that fail are only counted: during faults, they may.
#pragma once

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "kube/base/async.h"

namespace e2e {

class ConfigLoad {
 public:
  struct Options {
    // Each gets a PodPlacementConfig.
    std::vector<std::string> namespaces;
    std::chrono::milliseconds edit_every{3000};
    // Between two deletions of a Secret with a certificate or an authority.
    std::chrono::milliseconds rotate_every{120'000};
    // Of the serving certificates, as the operator's flag takes it: renewed after two thirds.
    std::string validity = "15m";
    uint64_t seed = 1;
  };

  ConfigLoad(ProcessCluster& cluster, Options options);

  // Sets the validity; creates namespaces, configs and a policy for each namespace; waits until
  // a new pod of each namespace gets both gates, and the policy is in force. Blocks.
  kube::Result<> Create();

  // Until cancelled.
  boost::asio::awaitable<void> Edit();
  boost::asio::awaitable<void> Rotate();

  int edits() const { return edits_; }
  int failed_edits() const { return failed_edits_; }
  int rotations() const { return rotations_; }

 private:
  kube::Result<> SetValidity();
  kube::Result<> CreateClusterConfig();
  kube::Result<> CreateNamespace(const std::string& ns);
  kube::Result<> Await(const std::string& what, const std::function<kube::Result<>()>& holds);
  kube::Result<> OperatorIsRolledOut();
  kube::Result<> PodsGetBothGates(const std::string& ns);
  kube::Result<> PolicyIsReady(const std::string& ns);

  kube::Async<> EditOne(int number);
  kube::Async<> Patch(kube::Resource resource, kube::ObjectKey key, kube::Json patch);
  // Creates the second config of the namespace, or deletes it.
  kube::Async<> ToggleSecond(std::string ns);
  std::vector<kube::ObjectKey> Secrets() const;
  int Weight() { return std::uniform_int_distribution<int>(1, 100)(random_); }

  ProcessCluster& cluster_;
  Options options_;
  std::mt19937_64 random_;
  int edits_ = 0;
  int failed_edits_ = 0;
  int rotations_ = 0;
};

}  // namespace e2e
