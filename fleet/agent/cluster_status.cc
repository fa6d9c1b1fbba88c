// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/cluster_status.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/scores/usage.h"
#include "kube/types/list_at.h"

namespace fleet {
namespace {

using kube::Json;

Json Conditions(const Json& cluster, const ClusterFacts& facts, kube::WallTime now) {
  Json conditions = kube::ListAt(cluster, "status.conditions");
  NewCondition available{kClusterAvailable, "True", "ManagedClusterAvailable",
                         "The API server of the cluster answers"};
  if (facts.unavailable) {
    available.status = "False";
    available.reason = "ManagedClusterKubeAPIServerUnavailable";
    available.message = "The API server of the cluster does not answer: " + *facts.unavailable;
  }
  SetCondition(conditions, available, now);
  return conditions;
}

bool IsOwnClaim(const Json& claim) {
  std::string name = kube::StringAt(claim, "name");
  size_t dot = name.find('.');
  return dot != std::string::npos && name.substr(dot + 1) == api::kGroup &&
         ArchitectureIndex(name.substr(0, dot)) >= 0;
}

std::optional<Json> Claims(const Json& cluster, const ClusterFacts& facts) {
  if (!facts.claims) return {};
  Json claims = kube::ListAt(cluster, "status.clusterClaims");
  claims.erase(std::remove_if(claims.begin(), claims.end(), IsOwnClaim), claims.end());
  if (claims.size() > kMaxOtherClaims) return {};
  for (const auto& [name, value] : *facts.claims)
    claims.push_back({{"name", name}, {"value", value}});
  return claims;
}

// Sets what differs from `stored` in `patch`; a resource that is gone becomes null.
void PatchQuantities(Json& patch, const Json& cluster, const char* field,
                     const std::optional<Quantities>& quantities) {
  if (!quantities) return;
  Json changes = Json::object();
  const Json* stored = kube::Find(cluster, std::string("status.") + field);
  static const Json kNone = Json::object();
  if (stored == nullptr || !stored->is_object()) stored = &kNone;
  for (const auto& [name, value] : stored->items()) {
    if (!quantities->contains(name)) changes[name] = nullptr;
  }
  for (const auto& [name, value] : *quantities) {
    auto before = stored->find(name);
    if (before == stored->end() || *before != value) changes[name] = value;
  }
  if (!changes.empty()) patch[field] = std::move(changes);
}

}  // namespace

std::optional<Json> ClusterStatusPatch(const Json& cluster, const ClusterFacts& facts,
                                       kube::WallTime now) {
  Json status = Json::object();
  if (Json conditions = Conditions(cluster, facts, now);
      conditions != kube::ListAt(cluster, "status.conditions")) {
    status["conditions"] = std::move(conditions);
  }
  if (std::optional<Json> claims = Claims(cluster, facts);
      claims && *claims != kube::ListAt(cluster, "status.clusterClaims")) {
    status["clusterClaims"] = std::move(*claims);
  }
  if (!facts.version.empty() &&
      kube::StringAt(cluster, "status.version.kubernetes") != facts.version) {
    status["version"] = {{"kubernetes", facts.version}};
  }
  PatchQuantities(status, cluster, "capacity", facts.capacity);
  PatchQuantities(status, cluster, "allocatable", facts.allocatable);
  if (status.empty()) return {};
  Json patch;
  patch["metadata"] = {{"resourceVersion", kube::StringAt(cluster, "metadata.resourceVersion")}};
  patch["status"] = std::move(status);
  return patch;
}

}  // namespace fleet
