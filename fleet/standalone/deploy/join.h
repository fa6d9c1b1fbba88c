// SPDX-License-Identifier: Apache-2.0
// Join: makes a cluster a member of a fleet, for `bazel run //fleet:join`: accepts it on the hub,
// gives its agent access there, and installs the agent. It prints a line for each step and can be
// repeated: the agent then has a new token.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

struct JoinOptions {
  // The name of the cluster on the hub.
  std::string cluster;
  // The namespace of the hub's own Deployment.
  std::string hub_namespace;
  // Labels of the ManagedCluster, if this creates it.
  std::map<std::string, std::string> labels = {};
  // AgentKubeconfig().
  std::string hub_kubeconfig;
  // The agent's manifests.
  std::vector<kube::Unstructured> agent;
  // False: only their Namespace, and the Secret. kustomize or Helm installs the rest, before or
  // after; nothing waits for it.
  bool install_agent = true;
  // Timeout until the agent has published the cluster.
  std::chrono::seconds timeout{180};
  bool wait = true;
};

// Errors: those of both API servers; kInvalid for a name that no member may have; kNotFound without
// a hub in `hub_namespace`; kAlreadyExists if the cluster is a member by another name;
// kDeadlineExceeded with what was not ready.
kube::Async<> Join(kube::Client& hub, kube::Client& member, kube::Clock& clock,
                   JoinOptions options);

}  // namespace fleet
