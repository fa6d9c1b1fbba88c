// SPDX-License-Identifier: Apache-2.0
// What a hub that owns the membership writes to a ManagedCluster: the patches of its metadata and
// spec, and of its status. Pure. Both are guarded by the resourceVersion and nullopt if nothing
// differs; what others wrote stays.
//
// The taints follow the condition Available, as in OCM: unknown or absent is "unreachable", False
// is "unavailable", True neither.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/types/object_fields.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The finalizer of a ManagedCluster to which access was given, until the access is removed.
inline constexpr std::string_view kMembershipFinalizer = "fleet.multiarch.openshift.io/membership";
// The set of a cluster that names none, and the set of all clusters.
inline constexpr std::string_view kDefaultClusterSet = "default";
inline constexpr std::string_view kGlobalClusterSet = "global";

// What the hub knows besides the ManagedCluster.
struct MemberFacts {
  // Why the agent is given no access, although it was accepted.
  std::optional<std::string> refused;
  // All that gives access exists.
  bool access = false;
  // The agent has renewed its Lease.
  bool joined = false;
  // There was no sign of the agent for GraceOf().
  bool silent = false;
};

// spec.hubAcceptsClient.
bool IsAccepted(const kube::Json& cluster);
// The longest silence of an agent: five times the cluster's lease duration, 5 s to 5 hours.
kube::Duration GraceOf(const kube::Json& cluster);

// How long the agent of a deleted cluster has to remove what was rolled out to it.
inline constexpr std::chrono::minutes kRemovalTime{5};
// Whether the agent of a cluster that is being deleted can remove that: the cluster is accepted and
// Available, its agent is not silent (`silence` is less than GraceOf()), and kRemovalTime since the
// deletion is not over: a member cannot delay it for longer.
bool AgentCanRemove(const kube::Json& cluster, kube::Duration silence, kube::WallTime now);

// The label of the default set, timeAdded and the hub's own taints, and the finalizer where access
// is to be given.
std::optional<kube::Json> ObjectPatch(const kube::Json& cluster, bool gives_access,
                                      kube::WallTime now);
// The conditions that a ManagedCluster may have (fleet/api/crds/managedclusters.yaml).
inline constexpr size_t kMaxConditions = 32;
// The conditions. If a member has filled the list, the last ones of types that are not the hub's
// are dropped, as the API server refuses a longer list.
std::optional<kube::Json> StatusPatch(const kube::Json& cluster, const MemberFacts& facts,
                                      kube::WallTime now);

// How the finalizers of clusters and works are read and removed.
using kube::HasFinalizer;
using kube::WithoutFinalizer;

}  // namespace fleet
