// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/cluster_state.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/names.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;

// As OCM's controller.
constexpr int kGraceLeases = 5;

// Absent or empty.
bool LacksClusterSet(const Json& cluster) {
  const Json& labels = kube::ObjectAt(cluster, "metadata.labels");
  auto label = labels.find(std::string(kClusterSetLabel));
  return label == labels.end() || *label == Json("");
}

void SetTaint(Json& taints, std::string_view key, bool wanted, const std::string& now) {
  auto is_ours = [&](const Json& taint) { return kube::StringAt(taint, "key") == key; };
  if (!wanted) {
    taints.erase(std::remove_if(taints.begin(), taints.end(), is_ours), taints.end());
    return;
  }
  bool there = std::any_of(taints.begin(), taints.end(), [&](const Json& taint) {
    return is_ours(taint) && kube::StringAt(taint, "effect") == kNoSelect;
  });
  if (there) return;
  taints.push_back(
      {{"key", std::string(key)}, {"effect", std::string(kNoSelect)}, {"timeAdded", now}});
}

Json Taints(const Json& cluster, WallTime now) {
  const std::string time = kube::FormatTime(now);
  Json taints = kube::ListAt(cluster, "spec.taints");
  for (Json& taint : taints) {
    if (taint.is_object() && (!taint.contains("timeAdded") || taint["timeAdded"].is_null()))
      taint["timeAdded"] = time;
  }
  std::string available = ConditionStatus(cluster, kClusterAvailable);
  bool unavailable = available == "False";
  SetTaint(taints, kUnreachableTaint, available != "True" && !unavailable, time);
  SetTaint(taints, kUnavailableTaint, unavailable, time);
  return taints;
}

Json Guarded(const Json& object) {
  Json patch;
  patch["metadata"]["resourceVersion"] = kube::StringAt(object, "metadata.resourceVersion");
  return patch;
}

void SetAccepted(Json& conditions, const Json& cluster, const MemberFacts& facts, WallTime now) {
  if (!IsAccepted(cluster)) {
    // As in OCM, a cluster that waits for its acceptance has no such condition.
    if (ConditionStatus(cluster, kHubAccepted).empty()) return;
    SetCondition(
        conditions,
        {kHubAccepted, "False", "HubClusterAdminDenied", "Denied by the administrator of the hub"},
        now);
  } else if (facts.refused) {
    SetCondition(conditions, {kHubAccepted, "False", "NamespaceRefused", *facts.refused}, now);
  } else if (facts.access) {
    SetCondition(conditions,
                 {kHubAccepted, "True", "HubClusterAdminAccepted",
                  "Accepted by the administrator of the hub"},
                 now);
  }
}

// Keeps the first condition of each type of the hub.
void DropBeyondBound(Json& conditions) {
  auto type_at = [&](size_t i) { return kube::StringAt(conditions[i], "type"); };
  for (size_t i = conditions.size(); i-- > 0 && conditions.size() > kMaxConditions;) {
    const std::string type = type_at(i);
    size_t first = 0;
    while (type_at(first) != type) ++first;
    const bool hubs = type == kHubAccepted || type == kClusterJoined || type == kClusterAvailable;
    if (!hubs || first < i) conditions.erase(i);
  }
}

}  // namespace

bool IsAccepted(const Json& cluster) { return kube::BoolAt(cluster, "spec.hubAcceptsClient"); }

kube::Duration GraceOf(const Json& cluster) { return kGraceLeases * LeaseDurationOf(cluster); }

bool AgentCanRemove(const Json& cluster, kube::Duration silence, WallTime now) {
  kube::Result<WallTime> deleted =
      kube::ParseTime(kube::StringAt(cluster, "metadata.deletionTimestamp"));
  return deleted && now < *deleted + kRemovalTime && IsAccepted(cluster) &&
         ConditionStatus(cluster, kClusterAvailable) == "True" && silence < GraceOf(cluster);
}

std::optional<Json> ObjectPatch(const Json& cluster, bool gives_access, WallTime now) {
  const Json unchanged = Guarded(cluster);
  Json patch = unchanged;
  if (gives_access && !HasFinalizer(cluster, kMembershipFinalizer))
    patch = kube::WithFinalizer(cluster, kMembershipFinalizer);
  if (LacksClusterSet(cluster))
    patch["metadata"]["labels"][std::string(kClusterSetLabel)] = std::string(kDefaultClusterSet);
  Json taints = Taints(cluster, now);
  if (taints != kube::ListAt(cluster, "spec.taints")) patch["spec"]["taints"] = std::move(taints);
  if (patch == unchanged) return std::nullopt;
  return patch;
}

std::optional<Json> StatusPatch(const Json& cluster, const MemberFacts& facts, WallTime now) {
  const Json& before = kube::ListAt(cluster, "status.conditions");
  Json conditions = before;
  SetAccepted(conditions, cluster, facts, now);
  std::string available = ConditionStatus(cluster, kClusterAvailable);
  bool reported = available == "True" || available == "False";
  bool joined = IsAccepted(cluster) && (facts.joined || reported);
  if (joined && ConditionStatus(cluster, kClusterJoined) != "True") {
    SetCondition(conditions,
                 {kClusterJoined, "True", "ManagedClusterJoined", "The agent has joined"}, now);
  }
  bool silent = facts.silent && (facts.access || !available.empty());
  if (silent && available != "Unknown") {
    SetCondition(conditions,
                 {kClusterAvailable, "Unknown", "ManagedClusterLeaseUpdateStopped",
                  "The agent has stopped renewing its Lease"},
                 now);
  }
  if (conditions == before) return std::nullopt;
  DropBeyondBound(conditions);
  Json patch = Guarded(cluster);
  patch["status"]["conditions"] = std::move(conditions);
  return patch;
}

}  // namespace fleet
