// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/cluster_reconciler.h"

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/reading.h"
#include "fleet/standalone/access/agent_access.h"
#include "kube/base/utf8.h"
#include "kube/client/typed.h"
#include "kube/controller/outcome_at.h"
#include "kube/types/list_at.h"
#include "kube/types/resource.h"

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
using kube::coordination::Lease;

// While works are being deleted.
constexpr std::chrono::seconds kWorksDelay{1};
// The delay while a namespace of another owner has the cluster's name: it is not watched.
constexpr std::chrono::minutes kRefusedDelay{1};

void Keep(const Json& from, Json& to, const char* section,
          std::initializer_list<const char*> fields) {
  const Json& old = kube::ObjectAt(from, section);
  for (const char* field : fields) {
    auto found = old.find(field);
    if (found != old.end()) to[section][field] = *found;
  }
}

// The conditions that the hub itself reads and writes, cut: a member may write any number of
// others. With the next status that the hub writes, these are gone.
Json KnownConditions(const Json& conditions) {
  constexpr size_t kMaxText = 512;
  Json known = Json::array();
  for (std::string_view type : {kHubAccepted, kClusterJoined, kClusterAvailable}) {
    for (const Json& condition : conditions) {
      if (kube::StringAt(condition, "type") != type) continue;
      Json& cut = known.emplace_back();
      for (const char* field : {"type", "status", "reason", "message", "lastTransitionTime"})
        cut[field] = std::string(kube::CutUtf8(kube::StringAt(condition, field), kMaxText));
      break;
    }
  }
  return known;
}

}  // namespace

void TrimCluster(Unstructured& cluster) {
  Json kept = Json::object();
  Keep(cluster.body(), kept, "metadata",
       {"name", "uid", "resourceVersion", "labels", "finalizers", "deletionTimestamp"});
  Keep(cluster.body(), kept, "spec", {"hubAcceptsClient", "leaseDurationSeconds", "taints"});
  const Json& conditions = kube::ListAt(cluster.body(), "status.conditions");
  if (kube::PackJson(conditions).size() > kMaxMemberBytes) {
    kept["status"]["conditions"] = KnownConditions(conditions);
  } else {
    Keep(cluster.body(), kept, "status", {"conditions"});
  }
  cluster = Unstructured(std::move(kept));
}

Async<Outcome> ClusterReconciler::Reconcile(kube::Request request) {
  const std::string name = request.key.name;
  std::optional<Unstructured> stored = clusters_.Get(request.key);
  if (!stored) {
    signs_.Forget(name);
    pace_.Forget(name);
    Result<> taken = co_await access_.Take(name);
    if (!taken) co_return taken.error();
    co_return Outcome::Done();
  }
  if (IsDeleting(stored->body())) co_return co_await Remove(std::move(*stored));

  Json cluster = stored->body();
  MemberFacts facts{.refused = RefusedName(name, hub_namespace_)};
  bool gives_access = IsAccepted(cluster) && !facts.refused;

  // Taking access comes before every write to the ManagedCluster: each status that the member
  // writes makes such a write fail, or uses up its pace.
  if (!gives_access) {
    Result<> taken = co_await access_.Take(name);
    if (!taken) co_return taken.error().Prefix("take the agent's access");
  }
  // The finalizer comes before the first object of the access.
  if (auto patch = ObjectPatch(cluster, gives_access, clock_.WallNow())) {
    Result<> written = co_await Patch(cluster, std::move(*patch), std::string());
    if (!written) co_return written.error().Prefix("write the ManagedCluster");
  }
  // The ManagedCluster may have changed since.
  if (gives_access && IsAccepted(cluster)) {
    Result<> given = co_await GiveAccess(name, facts);
    if (!given) co_return given.error();
  }

  kube::Duration left = GraceOf(cluster) - signs_.Silence(name);
  if (facts.access && left <= kube::Duration::zero() &&
      ConditionStatus(cluster, kClusterAvailable) != "Unknown") {
    Result<> looked = co_await LookAtLease(name);
    if (!looked) co_return looked.error().Prefix("read the Lease");
    left = GraceOf(cluster) - signs_.Silence(name);
  }
  facts.joined = signs_.HasLease(name);
  // Without access, there will be no further sign of life.
  facts.silent = !facts.access || left <= kube::Duration::zero();
  if (auto patch = StatusPatch(cluster, facts, clock_.WallNow())) {
    // The taints follow with the event of this write.
    std::string subresource = "status";
    Result<> written = co_await Patch(cluster, std::move(*patch), std::move(subresource));
    if (!written) co_return written.error().Prefix("write the status of the ManagedCluster");
  }
  if (IsAccepted(cluster) && facts.refused) co_return Outcome::After(kRefusedDelay);
  if (facts.silent) co_return Outcome::Done();
  co_return kube::OutcomeAfter(left);
}

Async<> ClusterReconciler::LookAtLease(const std::string& cluster) {
  ObjectKey key{cluster, std::string(kClusterLease)};
  Result<Lease> lease = co_await kube::Get<Lease>(client_, std::move(key));
  if (IsNotFound(lease)) co_return Ok();
  if (!lease) co_return lease.error();
  const auto& renewed = lease->spec().renew_time();
  (void)signs_.Renewed(cluster, {renewed.seconds(), renewed.nanos()});
  co_return Ok();
}

Async<> ClusterReconciler::GiveAccess(std::string name, MemberFacts& facts) {
  Result<std::optional<std::string>> given = co_await access_.Give(std::move(name));
  if (!given) co_return given.error().Prefix("give the agent access");
  facts.refused = std::move(*given);
  facts.access = !facts.refused;
  co_return Ok();
}

Async<Outcome> ClusterReconciler::Remove(Unstructured cluster) {
  const std::string name = cluster.metadata().name();
  // A cluster without the finalizer was given no access.
  const bool has_finalizer = HasFinalizer(cluster.body(), kMembershipFinalizer);
  const bool has_namespace = has_finalizer && !RefusedName(name, hub_namespace_);
  if (has_namespace && AgentCanRemove(cluster.body(), signs_.Silence(name), clock_.WallNow())) {
    Result<bool> withdrawn = co_await access_.Withdraw(name);
    if (!withdrawn) co_return withdrawn.error();
    if (!*withdrawn) co_return Outcome::After(kWorksDelay);
  }
  Result<> taken = co_await access_.Take(name);
  if (!taken) co_return taken.error().Prefix("take the agent's access");
  if (!has_finalizer) co_return Outcome::Done();
  if (has_namespace) {
    Result<bool> cleared = co_await access_.Clear(name);
    if (!cleared) co_return cleared.error();
    if (!*cleared) co_return Outcome::After(kWorksDelay);
  }
  Json body = cluster.body();
  Json patch = WithoutFinalizer(body, kMembershipFinalizer);
  Result<> written = co_await Patch(body, std::move(patch), std::string());
  if (!written && !IsNotFound(written)) co_return written.error().Prefix("remove the finalizer");
  co_return Outcome::Done();
}

Async<> ClusterReconciler::Patch(Json& cluster, Json patch, std::string subresource) {
  ObjectKey key{"", kube::StringAt(cluster, "metadata.name")};
  kube::Duration wait = pace_.Take(key.name);
  if (wait > kube::Duration::zero()) {
    co_return Error::Throttled("another client reverts changes of the ManagedCluster repeatedly")
        .WithRetryAfter(std::chrono::ceil<std::chrono::seconds>(wait));
  }
  Result<Unstructured> written =
      co_await kube::PatchObject(client_, kManagedClusters, std::move(key), kube::kMergePatch,
                                 std::move(patch), std::move(subresource));
  if (!written) co_return written.error();
  cluster = written->body();
  co_return Ok();
}

}  // namespace fleet
