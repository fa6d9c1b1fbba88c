// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/deploy/leave.h"

#include <iostream>
#include <utility>

#include "deploy/install.h"
#include "fleet/agent/work_objects.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/deploy/member.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Client;
using kube::Clock;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::TimePoint;
using kube::Unstructured;
using namespace std::chrono_literals;

constexpr auto kPollEvery = 500ms;

// Deletes an object that may be gone already.
Async<> Delete(Client& client, const Resource& resource, ObjectKey key) {
  const std::string name = std::string(resource.kind) + " " + key.ToString();
  Result<> deleted = co_await kube::DeleteObject(client, resource, std::move(key));
  if (IsNotFound(deleted)) co_return Ok();
  if (!deleted) co_return deleted.error().Prefix("delete " + name);
  std::cout << "deleted " << name << std::endl;
  co_return Ok();
}

// The agent that would remove the finalizer of a work object is gone.
Async<> DeleteWork(Client& hub, const Unstructured& work) {
  ObjectKey key = kube::KeyOf(work);
  Result<> deleted = co_await Delete(hub, kPodPlacementWorks, key);
  if (!deleted) co_return deleted.error();
  if (!kube::HasFinalizer(work.body(), kWorkFinalizer)) co_return Ok();
  Json patch = kube::WithoutFinalizer(work.body(), kWorkFinalizer);
  patch["metadata"].erase("resourceVersion");  // the deletion has changed it
  Result<Unstructured> patched =
      co_await kube::PatchObject(hub, kPodPlacementWorks, key, kube::kMergePatch, std::move(patch));
  if (!patched && !IsNotFound(patched)) co_return patched.error().Prefix("patch " + key.ToString());
  co_return Ok();
}

// Repeats until the hub's rollouts have seen that the cluster is gone and create no more.
Async<> DeleteWorks(Client& hub, Clock& clock, std::string cluster, TimePoint deadline) {
  while (true) {
    kube::ListOptions options;
    options.ns = cluster;
    auto works = co_await kube::ListObjects(hub, kPodPlacementWorks, std::move(options));
    if (IsNotFound(works)) co_return Ok();
    if (!works) co_return works.error();
    if (works->items.empty()) co_return Ok();
    for (const Unstructured& work : works->items) {
      Result<> deleted = co_await DeleteWork(hub, work);
      if (!deleted) co_return deleted.error();
    }
    if (clock.Now() >= deadline)
      co_return Error::DeadlineExceeded("PodPlacementWorks in " + cluster + " are not deleted");
    Result<> slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

// OCM or the hub may do it as well, but leaving must not depend on whether they run.
Async<> EndAccess(Client& hub, std::string cluster) {
  std::vector<Json> objects = AgentAccess(cluster);
  for (size_t i = objects.size(); i-- > 0;) {
    Unstructured object(std::move(objects[i]));
    ObjectKey key = kube::KeyOf(object);
    Result<> deleted = co_await Delete(hub, kAgentAccessResources[i], std::move(key));
    if (!deleted) co_return deleted.error();
  }
  co_return Ok();
}

// What the agent has applied of a kind.
Async<> DeleteApplied(Client& member, Clock& clock, const Resource& kind, TimePoint deadline) {
  while (true) {
    kube::ListOptions options;
    options.label_selector = std::string(kWorkUidLabel);
    auto applied = co_await kube::ListObjects(member, kind, std::move(options));
    if (IsNotFound(applied)) co_return Ok();
    if (!applied) co_return applied.error();
    if (applied->items.empty()) co_return Ok();
    for (const Unstructured& object : applied->items) {
      if (object.metadata().has_deletion_timestamp()) continue;
      ObjectKey key = kube::KeyOf(object);
      Result<> deleted = co_await Delete(member, kind, std::move(key));
      if (!deleted) co_return deleted.error();
    }
    if (clock.Now() >= deadline) {
      co_return Error::DeadlineExceeded(std::string(kind.kind) + " " +
                                        kube::KeyOf(applied->items.front()).ToString() +
                                        " is not deleted");
    }
    Result<> slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

// The PodPlacementConfigs first: the operator refuses to delete the ClusterPodPlacementConfig while
// any exists.
Async<> DeleteAllApplied(Client& member, Clock& clock, TimePoint deadline) {
  const std::vector<Resource>& kinds = AppliedKinds();
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
    Result<> deleted = co_await DeleteApplied(member, clock, *kind, deadline);
    if (!deleted) co_return deleted.error();
  }
  co_return Ok();
}

}  // namespace

Async<> Leave(Client& hub, Client& member, Clock& clock, LeaveOptions options) {
  const TimePoint deadline = clock.Now() + options.timeout;
  Result<ObjectKey> secret = HubSecretOf(options.agent);
  if (!secret) co_return secret.error();
  Result<> checked = co_await CheckMemberName(member, *secret, options.cluster);
  if (!checked) co_return checked.error();

  // The member.
  Result<> deleted = co_await Delete(member, kube::kSecrets, *secret);
  if (!deleted) co_return deleted.error();
  Result<> uninstalled =
      co_await deploy::Uninstall(member, clock, std::move(options.agent), deadline);
  if (!uninstalled) co_return uninstalled.error();
  if (options.delete_objects) {
    Result<> withdrawn = co_await DeleteAllApplied(member, clock, deadline);
    if (!withdrawn) co_return withdrawn.error();
  }

  // The hub.
  const ObjectKey cluster{"", options.cluster};
  deleted = co_await Delete(hub, kManagedClusters, cluster);
  if (!deleted) co_return deleted.error();
  Result<> ended = co_await EndAccess(hub, options.cluster);
  if (!ended) co_return ended.error();
  Result<> works = co_await DeleteWorks(hub, clock, options.cluster, deadline);
  if (!works) co_return works.error();
  Result<> gone = co_await deploy::AwaitDeletion(hub, clock, kManagedClusters, cluster, deadline);
  if (!gone) co_return gone.error().Prefix("ManagedCluster " + options.cluster);
  std::cout << options.cluster << " is no member any more" << std::endl;
  co_return Ok();
}

}  // namespace fleet
