// SPDX-License-Identifier: Apache-2.0
// Cluster: a World in which the operator runs: what it writes becomes processes, calls to webhooks
// and deletions.
//
//   Cluster cluster(/*seed=*/7, {.operators = 2});
//   cluster.world().Pass(10s);
//   cluster.Create("ann", kClusterConfigs, api::MakeClusterConfig().Build());
//   cluster.world().Pass(1min);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/testing/store_commit.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "sim/base/process.h"
#include "sim/cluster/collector.h"
#include "sim/cluster/deployments.h"
#include "sim/world/world.h"

namespace sim {

struct ClusterOptions {
  // Replicas.
  int operators = 1;
  // Of the operator.
  std::string ns = "operator";
  // Of all commits; may be empty.
  std::function<void(World& world, const kube::StoreCommit& commit)> observer = {};
};

class Cluster {
 public:
  // With the Deployment of the operator, whose pods need some seconds to start.
  explicit Cluster(uint64_t seed, ClusterOptions options = {});

  World& world() { return world_; }
  // Of the pods whose processes have names that begin so: "operator/", "shard/shop/"; "" for all.
  std::vector<Process*> Processes(std::string_view prefix) const;

  // A call of a user, with admission; its time passes. Errors: also kDeadlineExceeded after a
  // minute.
  kube::Result<kube::ApiResponse> Call(const std::string& user, kube::ApiRequest request);
  kube::Result<kube::ApiResponse> Create(const std::string& user, const kube::Resource& resource,
                                         const kube::Json& object);

 private:
  ClusterOptions options_;
  World world_;
  Deployments deployments_;
  Collector collector_;
};

}  // namespace sim
