// SPDX-License-Identifier: Apache-2.0
// A replica of the operator as a process of the simulation: what operator/replica.cc and main.cc
// make of its parts, with its webhooks behind a Service of the simulation.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "sim/base/process.h"
#include "sim/cluster/services.h"

namespace sim {

struct OperatorOptions {
  // Its own namespace.
  std::string ns;
  // Unique among the replicas.
  std::string pod_name;
  // Of the images of the operands: "r.io/webhook:TAG", "r.io/shard:TAG" and "r.io/controller:TAG".
  std::string tag = "1";
  // As Faults know the process.
  std::string process;
  // Outlives the process.
  Services* services;
};

kube::Async<> RunOperator(Life& life, OperatorOptions options);

}  // namespace sim
