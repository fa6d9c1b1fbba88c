// SPDX-License-Identifier: Apache-2.0
// AccessWatch: which objects of AgentAccess() exist, for all clusters, from watches that keep only
// whether an object is as wanted: about 300 bytes each. So a hub at rest writes and reads nothing,
// and an object that is deleted or changed is restored.
//
// An object belongs to a cluster by the label kClusterNameLabel; one without it, or in a namespace
// of another name, is never seen here. Thread: the client's.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "fleet/standalone/access/agent_access.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

class AccessWatch {
 public:
  static constexpr size_t kParts = kAgentAccessResources.size();
  using Changed = std::function<void(const std::string& cluster)>;

  // `client` and `clock` outlive this. `changed` is called when an object of the cluster changes,
  // from inside the watch.
  AccessWatch(kube::Client& client, kube::Clock& clock, Changed changed);

  void Start(kube::TaskGroup& tasks);
  // Resumes when all objects are known. Errors: kCancelled.
  kube::Async<> WaitForSync();

  // `part`: an index of kAgentAccessResources.
  bool Exists(const std::string& cluster, size_t part) const;
  bool IsAsWanted(const std::string& cluster, size_t part) const;

 private:
  using Informer = kube::Informer<kube::Unstructured>;

  std::array<std::unique_ptr<Informer>, kParts> parts_;
};

// The key of the object `part` of the cluster.
kube::ObjectKey AccessKey(const std::string& cluster, size_t part);

}  // namespace fleet
