// SPDX-License-Identifier: Apache-2.0
// ClusterAccess: gives the agent of a cluster access to the hub, takes it away, and clears away
// what a deleted cluster leaves. It writes only into a namespace that it created, or that has the
// label kClusterNameLabel with its own name. Thread: the client's.
#pragma once

#include <optional>
#include <string>

#include "fleet/standalone/membership/access_watch.h"
#include "kube/base/async.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

// A label of a namespace that the hub created, so that it may delete it: kCreatedByHub =
// kFieldManager.
inline constexpr std::string_view kCreatedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kFieldManager = "multiarch-fleet-hub";

class ClusterAccess {
 public:
  using NamespaceReader = kube::Reader<kube::Unstructured>;

  // All outlive this. `namespaces`: those with kClusterNameLabel; of each at least the metadata.
  ClusterAccess(kube::Client& client, const AccessWatch& stored, const NamespaceReader& namespaces)
      : client_(client), stored_(stored), namespaces_(namespaces) {}

  // Creates what is missing of the namespace and of AgentAccess(), and restores what was changed.
  // Makes no call if nothing was. Returns: why it was refused, without any write; nullopt: access
  // is given. Errors: kUnavailable while the namespace is being deleted.
  kube::Async<std::optional<std::string>> Give(std::string cluster);

  // Deletes what exists of AgentAccess(): the tokens of the agent are void from then on.
  kube::Async<> Take(std::string cluster);

  // Before Take(): deletes the cluster's PodPlacementWorks, so that its agent removes what it has
  // applied. Returns: false while works are left, so call it again.
  kube::Async<bool> Withdraw(std::string cluster);

  // After Take(): deletes the PodPlacementWorks that are left, whose agent can no longer answer,
  // then the namespace if the hub created it. Returns: false if works were left, so call it again.
  kube::Async<bool> Clear(std::string cluster);

 private:
  kube::Async<std::optional<std::string>> EnsureNamespace(const std::string& cluster);
  kube::Async<> Apply(const std::string& cluster, size_t part);
  // `with_agent`: its finalizers stay. Returns: whether there were no works.
  kube::Async<bool> DeleteWorks(const std::string& cluster, bool with_agent);

  kube::Client& client_;
  const AccessWatch& stored_;
  const NamespaceReader& namespaces_;
};

}  // namespace fleet
