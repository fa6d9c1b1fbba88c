// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/cluster_access.h"

#include <utility>
#include <vector>

#include "fleet/api/pod_placement_work.h"
#include "fleet/api/reading.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/membership/cluster_state.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

using Refusal = std::optional<std::string>;

bool CreatedByHub(const Unstructured& ns) {
  const auto& labels = ns.metadata().labels();
  auto label = labels.find(std::string(kCreatedByLabel));
  return label != labels.end() && label->second == kFieldManager;
}

Error BeingDeleted(const std::string& ns) {
  return Error::Unavailable("the namespace " + ns + " is being deleted");
}

}  // namespace

Async<Refusal> ClusterAccess::Give(std::string cluster) {
  Result<Refusal> refused = co_await EnsureNamespace(cluster);
  if (!refused) co_return refused.error();
  if (*refused) co_return std::move(*refused);
  for (size_t part = 0; part < AccessWatch::kParts; ++part) {
    if (stored_.IsAsWanted(cluster, part)) continue;
    Result<> applied = co_await Apply(cluster, part);
    if (!applied) co_return applied.error().Prefix(std::string(kAgentAccessResources[part].kind));
  }
  co_return Refusal();
}

Async<Refusal> ClusterAccess::EnsureNamespace(const std::string& cluster) {
  ObjectKey key{"", cluster};
  if (std::optional<Unstructured> known = namespaces_.Get(key);
      known && IsClusterNamespace(known->body())) {
    if (IsDeleting(known->body())) co_return BeingDeleted(cluster);
    co_return Refusal();
  }
  // A namespace without the label, or with the label of another cluster, has another owner.
  Result<Unstructured> stored = co_await kube::GetObject(client_, kube::kNamespaces, key);
  if (stored) {
    if (IsDeleting(stored->body())) co_return BeingDeleted(cluster);
    if (IsClusterNamespace(stored->body())) co_return Refusal();
    co_return Refusal("the namespace " + cluster + " exists and has no label " +
                      std::string(kClusterNameLabel) + "=" + cluster);
  }
  if (!IsNotFound(stored)) co_return stored.error().Prefix("read the namespace");
  // A create, not an apply: it adopts no namespace that another client creates meanwhile.
  Json body = ClusterNamespace(cluster);
  body["metadata"]["labels"][std::string(kCreatedByLabel)] = std::string(kFieldManager);
  Unstructured object(std::move(body));
  Result<Unstructured> created =
      co_await kube::CreateObject(client_, kube::kNamespaces, std::move(object));
  if (!created) co_return created.error().Prefix("create the namespace");
  co_return Refusal();
}

Async<> ClusterAccess::Apply(const std::string& cluster, size_t part) {
  const kube::Resource resource = kAgentAccessResources[part];
  kube::ApplyOptions options{.field_manager = std::string(kFieldManager)};
  Unstructured object(AgentAccess(cluster)[part]);
  Result<Unstructured> applied =
      co_await kube::ApplyObject(client_, resource, std::move(object), std::move(options));
  if (applied) co_return Ok();
  if (applied.error().code() != kube::Code::kInvalid) co_return applied.error();
  // The roleRef of a binding cannot change: the next attempt creates it anew.
  ObjectKey key = AccessKey(cluster, part);
  if (stored_.Exists(cluster, part)) {
    Result<> deleted = co_await kube::DeleteObject(client_, resource, std::move(key));
    if (!deleted && !IsNotFound(deleted)) co_return deleted.error();
  }
  co_return applied.error();
}

Async<> ClusterAccess::Take(std::string cluster) {
  // The rights go before the identity. One that cannot be deleted now keeps no other: without its
  // ServiceAccount, the agent has no valid token.
  std::optional<Error> first;
  for (size_t left = AccessWatch::kParts; left > 0; --left) {
    size_t part = left - 1;
    if (!stored_.Exists(cluster, part)) continue;
    const kube::Resource resource = kAgentAccessResources[part];
    ObjectKey key = AccessKey(cluster, part);
    Result<> deleted = co_await kube::DeleteObject(client_, resource, std::move(key));
    if (!deleted && !IsNotFound(deleted) && !first)
      first = deleted.error().Prefix("delete " + std::string(resource.kind));
  }
  if (first) co_return *first;
  co_return Ok();
}

Async<bool> ClusterAccess::Withdraw(std::string cluster) {
  ObjectKey key{"", cluster};
  std::optional<Unstructured> ns = namespaces_.Get(key);
  if (!ns || !IsClusterNamespace(ns->body())) co_return true;
  co_return co_await DeleteWorks(cluster, /*with_agent=*/true);
}

Async<bool> ClusterAccess::Clear(std::string cluster) {
  ObjectKey key{"", cluster};
  Result<Unstructured> ns = co_await kube::GetObject(client_, kube::kNamespaces, key);
  if (IsNotFound(ns)) co_return true;
  if (!ns) co_return ns.error().Prefix("read the namespace");
  if (!IsClusterNamespace(ns->body())) co_return true;

  Result<bool> empty = co_await DeleteWorks(cluster, /*with_agent=*/false);
  if (!empty) co_return empty.error();
  if (!*empty) co_return false;

  if (!CreatedByHub(*ns) || IsDeleting(ns->body())) co_return true;
  kube::DeleteOptions options;
  options.uid = ns->metadata().uid();
  Result<> deleted =
      co_await kube::DeleteObject(client_, kube::kNamespaces, std::move(key), std::move(options));
  if (!deleted && !IsNotFound(deleted)) co_return deleted.error().Prefix("delete the namespace");
  co_return true;
}

Async<bool> ClusterAccess::DeleteWorks(const std::string& cluster, bool with_agent) {
  kube::ListOptions options;
  options.ns = cluster;
  Result<kube::TypedList<Unstructured>> works =
      co_await kube::ListObjects(client_, kPodPlacementWorks, std::move(options));
  // Without the CRD there are none.
  if (IsNotFound(works)) co_return true;
  if (!works) co_return works.error().Prefix("list the works");
  for (const Unstructured& work : works->items) {
    ObjectKey key{cluster, work.metadata().name()};
    if (!with_agent && HasFinalizer(work.body(), kWorkFinalizer)) {
      Json patch = WithoutFinalizer(work.body(), kWorkFinalizer);
      Result<Unstructured> patched = co_await kube::PatchObject(
          client_, kPodPlacementWorks, key, kube::kMergePatch, std::move(patch));
      if (!patched && !IsNotFound(patched))
        co_return patched.error().Prefix("remove the finalizer of " + key.ToString());
    }
    if (IsDeleting(work.body())) continue;
    Result<> deleted = co_await kube::DeleteObject(client_, kPodPlacementWorks, key);
    if (!deleted && !IsNotFound(deleted))
      co_return deleted.error().Prefix("delete " + key.ToString());
  }
  co_return works->items.empty();
}

}  // namespace fleet
