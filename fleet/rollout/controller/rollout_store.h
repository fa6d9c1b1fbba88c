// SPDX-License-Identifier: Apache-2.0
// RolloutStore: the FleetPodPlacements of a hub and what their clusters have, and which changes
// wake which FleetPodPlacement. No I/O. Thread: one executor.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "fleet/api/budgets.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/rollout/plan.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/rollout/work_writes.h"
#include "kube/base/clock.h"
#include "kube/types/resource.h"

namespace fleet {

// A write that the API server did not store.
struct FailedWrite {
  std::string error;
  // When the API server refused what was written; absent if a retry may succeed at once.
  std::optional<kube::WallTime> refused_at = {};
};

class RolloutStore {
 public:
  // What was refused is written again after this time: the same objects may be large, and are for
  // many clusters.
  static constexpr std::chrono::minutes kRefusedRetry{10};

  using Wake = std::function<void(const kube::ObjectKey& fleet)>;
  using Works = std::map<std::string, StoredWork>;  // by cluster

  // `clock` outlives this. `kind`: of the work objects; what it cannot have is a problem of the
  // FleetPodPlacement.
  RolloutStore(kube::Clock& clock, Wake wake, const WorkKind& kind = kPodPlacementWorkKind)
      : clock_(clock), wake_(std::move(wake)), kind_(kind) {}
  RolloutStore(const RolloutStore&) = delete;
  RolloutStore& operator=(const RolloutStore&) = delete;

  // Changes, from the watches.
  void Put(FleetPodPlacement fleet);
  void Put(const PodPlacementWork& work);
  void RemoveFleet(const kube::ObjectKey& fleet);
  // One that exceeds a budget (fleet/api/budgets.h). It is woken, so that its status says so; what
  // its clusters have stays.
  void LeaveOut(const kube::ObjectKey& fleet, Excess excess);
  void RemoveWork(const kube::ObjectKey& work);
  // The same, unless another object of this name is stored meanwhile.
  void RemoveWork(const kube::ObjectKey& work, const std::string& uid);
  // The decisions of a Placement changed; without a name: perhaps those of all in the namespace.
  void PlacementChanged(const kube::ObjectKey& placement);

  // What this process has written itself, so that the next pass knows it before the watch does.
  void PutWritten(FleetPodPlacement fleet);
  void PutWritten(const PodPlacementWork& work) { (void)StoreWork(work); }

  // The watches are complete: wakes all. Before this call, changes wake none.
  void WakeAll();
  bool complete() const { return complete_; }

  // The writes of a pass that failed: clusters where `hash` could not be stored. One that failed
  // before, with the same hash, keeps the time of its first failure.
  void SetUnwritten(const kube::ObjectKey& fleet, const std::string& hash,
                    const std::map<std::string, FailedWrite>& failures);
  // Of these, the refused ones that are not to be repeated with `hash` yet.
  std::map<std::string, FailedWrite> RefusedOf(const kube::ObjectKey& fleet,
                                               const std::string& hash) const;

  // A plan for the FleetPodPlacement has counted these successes (ClusterWork::counted).
  void SetCounted(const kube::ObjectKey& fleet, const RolloutPlan& plan);

  // Whether the namespace may have one work object more.
  bool HasRoom(const std::string& ns) const;

  // Which limit a FleetPodPlacement exceeds that exists and is not stored. nullopt for any other.
  std::optional<Excess> LeftOut(const kube::ObjectKey& fleet) const;
  // The status of one that is left out was written.
  void SaidLeftOut(const kube::ObjectKey& fleet);

  // nullptr if there is none. Its objects are packed.
  std::shared_ptr<const FleetPodPlacement> Find(const kube::ObjectKey& fleet) const;
  // The work objects of a FleetPodPlacement, which need not exist any more.
  const Works& WorksOf(const kube::ObjectKey& fleet) const;
  // What a plan reads: the states of these objects, by the hub's clock (Follow()). Where the hub
  // could not store the newest hash, the cluster counts as progressing since the first attempt.
  // Stored times are set back to now (SetBack()).
  std::map<std::string, ClusterWork> StatesOf(const kube::ObjectKey& fleet);
  template <class Visit>
  void ForEachFleet(const Visit& visit) const {
    for (const auto& [key, fleet] : fleets_) visit(*fleet);
  }

 private:
  struct Unwritten {
    ClusterWork state;
    std::optional<kube::WallTime> refused_at;
  };

  void WakeOne(const kube::ObjectKey& fleet);
  // Returns: the owner; a key without a name if this version is known, or if it has no owner.
  kube::ObjectKey StoreWork(const PodPlacementWork& work);

  // A work object of the namespace more, or less.
  void CountOne(const std::string& ns);
  void UncountOne(const std::string& ns);
  // Ends what SetUnwritten() noted.
  void ForgetUnwritten(const kube::ObjectKey& fleet);

  kube::Clock& clock_;
  Wake wake_;
  const WorkKind kind_;
  bool complete_ = false;
  std::map<kube::ObjectKey, std::shared_ptr<const FleetPodPlacement>> fleets_;  // by namespace
  std::unordered_map<kube::ObjectKey, Works> works_;             // by FleetPodPlacement
  std::unordered_map<kube::ObjectKey, kube::ObjectKey> owners_;  // of each work object
  // By FleetPodPlacement and cluster.
  std::unordered_map<kube::ObjectKey, std::map<std::string, Unwritten>> unwritten_;
  // FleetPodPlacements that are not in fleets_.
  std::unordered_map<kube::ObjectKey, Excess> left_out_;
  // The work objects, and the entries of unwritten_.
  std::unordered_map<std::string, size_t> works_of_;  // by namespace of the FleetPodPlacement
  size_t work_count_ = 0;
  size_t beyond_shares_ = 0;
};

}  // namespace fleet
