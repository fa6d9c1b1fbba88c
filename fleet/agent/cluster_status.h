// SPDX-License-Identifier: Apache-2.0
// What the agent writes to the status of its ManagedCluster. Pure.
//
// Conditions, claims and resources of others are kept: only the condition Available, the claims
// "<architecture>.multiarch.openshift.io", capacity, allocatable and the version are this agent's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/agent/resource_totals.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The largest number of others' claims that are sent back with the agent's own. With more, claims
// are not written.
inline constexpr size_t kMaxOtherClaims = 1000;

struct ClusterFacts {
  // Why the API server of the cluster does not answer; nullopt: it does.
  std::optional<std::string> unavailable;
  // Unknown values stay unchanged in the status.
  std::string version;  // "v1.31.2"; "" unknown
  std::optional<Quantities> capacity;
  std::optional<Quantities> allocatable;
  std::optional<std::map<std::string, std::string>> claims;
};

// A merge patch of `cluster`'s status, guarded by its resourceVersion; nullopt if nothing differs.
std::optional<kube::Json> ClusterStatusPatch(const kube::Json& cluster, const ClusterFacts& facts,
                                             kube::WallTime now);

}  // namespace fleet
