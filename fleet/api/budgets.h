// SPDX-License-Identifier: Apache-2.0
// The limits of a hub: how much it keeps of what tenants and members can create, of each owner and
// in all. An owner is a namespace: a tenant's, or that of a cluster.
//
// What exceeds a limit is not in force: it is not read, and its condition or an event says
// `TooLarge`. The oldest objects stay in force. What its decisions and rollouts have given to
// clusters stays, too.
//
// Bytes are those that the hub needs to keep an object, by KeptBytes(): texts, and an amount for
// each item. With all of these full, the hub has the memory that docs/performance.md says
// (//fleet/benchmark:full_budgets).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Of one kind, in bytes.
struct Budget {
  size_t object;      // of one object
  size_t owner;       // of all of one owner
  size_t total;       // of all owners
  size_t share = 0;   // of each owner, beside `total`: what others cannot displace
  size_t shares = 0;  // of all shares
  // How many objects are known at all, of an owner and in all. One beyond these counts again when
  // it changes, or with the next term of leadership.
  size_t owner_objects;
  size_t objects;
};

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;

// 5,000 clusters with 12 labels and 12 claims each need 6 MiB. The kind has no namespaces: each
// cluster has the limit of an object.
inline constexpr Budget kClusterBudget{.object = 16 * kKiB,
                                       .owner = 24 * kMiB,
                                       .total = 24 * kMiB,
                                       .owner_objects = 7000,
                                       .objects = 7000};
// A known cluster that exceeds these keeps its labels and taints, so that a Placement without
// claims still selects it, if they need no more than this.
inline constexpr size_t kMaxBareClusterBytes = 3 * kKiB;
// The agent's 8 scores need 1.2 KiB.
inline constexpr Budget kScoreBudget{.object = 32 * kKiB,
                                     .owner = 32 * kKiB,
                                     .total = 16 * kMiB,
                                     .owner_objects = 32,
                                     .objects = 11'000};
// One with a few predicates needs 3 KiB, and 100 bytes more for each of its PlacementDecisions.
inline constexpr Budget kPlacementBudget{.object = kMiB,
                                         .owner = 2 * kMiB,
                                         .total = 6 * kMiB,
                                         .share = 64 * kKiB,
                                         .shares = 3 * kMiB,
                                         .owner_objects = 1000,
                                         .objects = 5000};
// 500 Placements that select 5,000 clusters each need 34 MiB.
inline constexpr Budget kDecisionBudget{.object = 512 * kKiB,
                                        .owner = 16 * kMiB,
                                        .total = 40 * kMiB,
                                        .owner_objects = 20'000,
                                        .objects = 50'000};
inline constexpr Budget kFleetBudget{.object = 640 * kKiB,
                                     .owner = kMiB,
                                     .total = 4 * kMiB,
                                     .share = 64 * kKiB,
                                     .shares = 2 * kMiB,
                                     .owner_objects = 100,
                                     .objects = 1000};
// Only administrators create sets, and bind them.
inline constexpr size_t kMaxSets = 10'000;
inline constexpr size_t kMaxSetBindings = 20'000;

// Work objects, about 1 KiB each in the hub: of the FleetPodPlacements of a namespace, and of all.
// Those that exist stay; without room, a cluster does not get its first one. The first ones of each
// namespace have a share of their own: all beyond these together get kMaxWorksBeyondShares.
inline constexpr size_t kMaxWorks = 20'000;
inline constexpr size_t kMaxWorksOfNamespace = 10'000;
inline constexpr size_t kShareOfWorks = 1000;
inline constexpr size_t kMaxWorksBeyondShares = 14'000;

// ManagedClusters as a whole, for CEL, and what the membership reads of them; in CBOR.
inline constexpr size_t kMaxCelClusterBytes = 32 * kKiB;  // of one
inline constexpr size_t kMaxCelClustersBytes = 24 * kMiB;
inline constexpr size_t kMaxMemberBytes = 4 * kKiB;  // of one

inline constexpr std::string_view kTooLarge = "TooLarge";  // the reason of conditions and events

// The bytes of what the hub keeps of an object. `json`: what `object` was read from.
size_t KeptBytes(const ManagedCluster& cluster, const kube::Json& json);
size_t KeptBytes(const AddOnPlacementScore& score, const kube::Json& json);
size_t KeptBytes(const Placement& placement, const kube::Json& json);
size_t KeptBytes(const PlacementDecision& decision, const kube::Json& json);
size_t KeptBytes(const FleetPodPlacement& fleet, const kube::Json& json);
// Of a PlacementDecision with so many entries.
size_t DecisionBytes(size_t entries, bool scored);

// Which limit an object exceeds.
enum class Excess { kObject, kOwner, kTotal, kOwnerObjects, kObjects };

// "is not in force: it needs 70000 bytes, and at most 65536 are allowed". `kinds`: "placements".
// `bytes`: 0 if they are not known.
std::string DescribeExcess(std::string_view kinds, const Budget& budget, Excess excess,
                           size_t bytes);

}  // namespace fleet
