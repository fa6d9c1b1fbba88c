// SPDX-License-Identifier: Apache-2.0
// Leave: ends the membership of a cluster, for `bazel run //fleet:leave`: removes the agent from
// the cluster, and the cluster and the agent's access from the hub. It prints a line for each step
// and can be repeated.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

struct LeaveOptions {
  // The name of the cluster on the hub.
  std::string cluster;
  // The agent's manifests, with all components.
  std::vector<kube::Unstructured> agent;
  // Whether to delete what the hub has rolled out to this cluster.
  bool delete_objects = false;
  std::chrono::seconds timeout{180};
};

// The agent is removed first, so nothing is applied or withdrawn meanwhile, and access to the hub
// ends before the work objects there are deleted.
// Errors: those of both API servers; kAlreadyExists if the cluster is a member by another name;
// kDeadlineExceeded with what is still there.
kube::Async<> Leave(kube::Client& hub, kube::Client& member, kube::Clock& clock,
                    LeaveOptions options);

}  // namespace fleet
