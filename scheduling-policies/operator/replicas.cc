// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/replicas.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "kube/client/typed.h"

namespace operator_ {

using kube::Async;
using kube::Ok;
using kube::Result;
using kube::coordination::Lease;

Async<> Replicas::Read(const std::string& log) {
  kube::ListOptions options{.ns = ns_, .label_selector = policy::ReplicaSelector()};
  Result<kube::TypedList<Lease>> leases = co_await kube::List<Lease>(client_, std::move(options));
  if (!leases) co_return leases.error().Prefix("list the Leases of the policy webhook");
  std::map<std::string, Replica> read;
  for (const Lease& lease : leases->items) {
    const std::string& name = lease.metadata().name();
    const std::string& version = lease.metadata().resource_version();
    kube::TimePoint renewed = clock_.Now();
    auto known = replicas_.find(name);
    if (known != replicas_.end() && known->second.resource_version == version)
      renewed = known->second.renewed;
    if (clock_.Now() - renewed >= policy::kReplicaDeadAfter) {
      Result<bool> deleted = co_await Delete(name, version);
      if (!deleted) co_return deleted.error();
      LOG_IF(WARNING, *deleted) << log << " deleted Lease " << name
                                << " of a webhook's replica that no longer renews it";
      if (*deleted) continue;
    }
    read[name] = {policy::SeenBy(lease), version, renewed};
  }
  replicas_ = std::move(read);
  co_return Ok();
}

Async<> Replicas::DeleteAll(const std::string& log) {
  const std::map<std::string, Replica> all = std::exchange(replicas_, {});
  for (const auto& [name, replica] : all) {
    std::string any_version;
    Result<bool> deleted = co_await Delete(name, std::move(any_version));
    if (!deleted) co_return deleted.error();
    VLOG(1) << log << " deleted Lease " << name << " of a webhook's replica";
  }
  co_return Ok();
}

Async<bool> Replicas::Delete(std::string name, std::string resource_version) {
  kube::DeleteOptions options;
  options.resource_version = std::move(resource_version);
  kube::ObjectKey key{ns_, std::move(name)};
  Result<> deleted = co_await kube::Delete<Lease>(client_, key, std::move(options));
  if (deleted || IsNotFound(deleted)) co_return true;
  if (IsConflict(deleted)) co_return false;
  co_return deleted.error().Prefix("delete Lease " + key.ToString());
}

size_t Replicas::Having(policy::Scope scope, uint64_t version) const {
  return static_cast<size_t>(std::count_if(replicas_.begin(), replicas_.end(), [&](auto& entry) {
    const policy::SeenVersions& seen = entry.second.seen;
    return (scope == policy::Scope::kCluster ? seen.cluster_policies : seen.policies) >= version;
  }));
}

}  // namespace operator_
