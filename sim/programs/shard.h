// SPDX-License-Identifier: Apache-2.0
// The shard of a namespace as a process of the simulation: what shard/main.cc makes of its parts.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "sim/base/process.h"

namespace sim {

struct ShardOptions {
  // The namespace that it serves.
  std::string ns;
  // Unique among the replicas.
  std::string pod_name;
  // Of the operator.
  std::string operator_namespace, operator_namespace_uid;
};

kube::Async<> RunShard(Life& life, ShardOptions options);

}  // namespace sim
