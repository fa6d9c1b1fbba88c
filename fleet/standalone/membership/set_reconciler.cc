// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/set_reconciler.h"

#include <chrono>
#include <optional>
#include <utility>

#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/reading.h"
#include "fleet/standalone/membership/cluster_state.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::Unstructured;

// As OCM's: default has the clusters that name it, global has all.
Json BuiltInSet(const std::string& name) {
  Json set;
  set["apiVersion"] = kManagedClusterSets.ApiVersion();
  set["kind"] = std::string(kManagedClusterSets.kind);
  set["metadata"]["name"] = name;
  Json& selector = set["spec"]["clusterSelector"];
  selector["selectorType"] = "ExclusiveClusterSetLabel";
  if (name == kGlobalClusterSet) {
    selector["selectorType"] = "LabelSelector";
    selector["labelSelector"] = Json::object();
  }
  return set;
}

}  // namespace

Async<Outcome> SetReconciler::Reconcile(kube::Request request) {
  Result<> done = Ok();
  if (request.key.ns.empty()) {
    done = co_await ReconcileSet(request.key.name);
  } else {
    done = co_await ReconcileBinding(request.key);
  }
  if (!done) co_return done.error();
  co_return Outcome::Done();
}

Async<> SetReconciler::ReconcileSet(const std::string& name) {
  ObjectKey key{"", name};
  std::optional<Unstructured> stored = sets_.Get(key);
  if (!stored) {
    pace_.Forget(name);
    if (name != kDefaultClusterSet && name != kGlobalClusterSet) co_return Ok();
    Result<> created = co_await CreateSet(name);
    co_return created;
  }
  if (IsDeleting(stored->body())) co_return Ok();
  Result<ManagedClusterSet> set = ManagedClusterSet::FromJson(stored->body());
  if (!set) co_return set.error().AsTerminal();
  size_t members = clusters_.CountMembers(*set);
  NewCondition empty{kClusterSetEmpty, "True", "NoClusterMatched", "No ManagedCluster selected"};
  if (members > 0) {
    empty.status = "False";
    empty.reason = "ClustersSelected";
    empty.message = std::to_string(members) + " ManagedClusters selected";
  }
  Json conditions = kube::ListAt(stored->body(), "status.conditions");
  SetCondition(conditions, empty, clock_.WallNow());
  Result<> written =
      co_await WriteCondition(kManagedClusterSets, stored->body(), std::move(conditions));
  co_return written;
}

Async<> SetReconciler::ReconcileBinding(const ObjectKey& key) {
  std::optional<Unstructured> stored = bindings_.Get(key);
  if (!stored) pace_.Forget(key.ToString());
  if (!stored || IsDeleting(stored->body())) co_return Ok();
  Result<ManagedClusterSetBinding> binding = ManagedClusterSetBinding::FromJson(stored->body());
  if (!binding) co_return binding.error().AsTerminal();
  ObjectKey set_key{"", binding->cluster_set};
  std::optional<Unstructured> set = sets_.Get(set_key);
  bool exists = set && !IsDeleting(set->body());
  NewCondition bound{kBound, "True", "ClusterSetBound", "The ManagedClusterSet is bound"};
  if (!exists) {
    bound.status = "False";
    bound.reason = "ClusterSetNotFound";
    bound.message = "There is no ManagedClusterSet with the name of the binding";
  }
  Json conditions = kube::ListAt(stored->body(), "status.conditions");
  SetCondition(conditions, bound, clock_.WallNow());
  Result<> written =
      co_await WriteCondition(kManagedClusterSetBindings, stored->body(), std::move(conditions));
  co_return written;
}

Async<> SetReconciler::CreateSet(const std::string& name) {
  Unstructured set(BuiltInSet(name));
  Result<Unstructured> created =
      co_await kube::CreateObject(client_, kManagedClusterSets, std::move(set));
  // The watch delivers it.
  if (!created && created.error().code() != kube::Code::kAlreadyExists)
    co_return created.error().Prefix("create the set");
  co_return Ok();
}

Async<> SetReconciler::WriteCondition(kube::Resource resource, const Json& object,
                                      Json conditions) {
  if (conditions == kube::ListAt(object, "status.conditions")) co_return Ok();
  ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                kube::StringAt(object, "metadata.name")};
  kube::Duration wait = pace_.Take(key.ToString());
  if (wait > kube::Duration::zero()) {
    co_return Error::Throttled("the condition changes too often")
        .WithRetryAfter(std::chrono::ceil<std::chrono::seconds>(wait));
  }
  Json patch;
  patch["metadata"]["resourceVersion"] = kube::StringAt(object, "metadata.resourceVersion");
  patch["status"]["conditions"] = std::move(conditions);
  std::string subresource = "status";
  Result<Unstructured> written =
      co_await kube::PatchObject(client_, resource, std::move(key), kube::kMergePatch,
                                 std::move(patch), std::move(subresource));
  if (!written && !IsNotFound(written)) co_return written.error().Prefix("write the status");
  co_return Ok();
}

}  // namespace fleet
