// SPDX-License-Identifier: Apache-2.0
// FleetStore: the hub's objects that deciding reads, and which of their changes wake which
// Placement: it is called only if something that the Placement reads has changed. No I/O.
//
//   FleetStore store(clock, [&](const ObjectKey& placement) { ... enqueue ... });
//   store.Put(cluster);              // from a watch
//   store.WakeAll();                 // once, when all watches are complete
//
// A changed ManagedCluster wakes the Placements in the namespaces to which one of its sets, before
// or after the change, is bound, if they name such a set or none. Decisions of other Placements
// wake no Placement, although Balance reads their number. Thread: one executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/budgets.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/hub/decision_index.h"
#include "fleet/hub/placement_reads.h"
#include "fleet/scheduling/cluster_sets.h"
#include "fleet/scheduling/fleet.h"
#include "kube/base/clock.h"
#include "kube/types/resource.h"

namespace fleet {

class FleetStore {
 public:
  using Wake = std::function<void(const kube::ObjectKey& placement)>;

  // `clock` outlives the store.
  FleetStore(kube::Clock& clock, Wake wake) : clock_(clock), wake_(std::move(wake)) {}
  FleetStore(const FleetStore&) = delete;
  FleetStore& operator=(const FleetStore&) = delete;

  // Changes, from the watches.
  void Put(ManagedCluster cluster);
  void Put(ManagedClusterSet set);
  void Put(ManagedClusterSetBinding binding);
  void Put(AddOnPlacementScore scores);
  void Put(Placement placement);
  void Put(const PlacementDecision& decision);
  void RemoveCluster(const std::string& name);
  void RemoveSet(const std::string& name);
  void RemoveBinding(const kube::ObjectKey& binding);
  void RemoveScore(const kube::ObjectKey& scores);
  void RemovePlacement(const kube::ObjectKey& placement);
  void RemoveDecision(const kube::ObjectKey& decision);
  // What exceeds a budget (fleet/api/budgets.h). The Placement is woken, so that its status says
  // so. `decision`: nullptr if it is the stored one.
  void LeaveOut(const kube::ObjectKey& placement, Excess excess);
  // `read`: nullptr if it is the stored one.
  void LeaveOutCluster(const std::string& name, ManagedCluster* read);
  void LeaveOutDecision(const kube::ObjectKey& decision, Excess excess, PlacementDecision* read);

  // What this process has written itself, so that the next pass knows it before the watch does.
  // Wakes no Placement, neither now nor when the watch delivers the same.
  void PutWritten(Placement placement);
  void PutWritten(const PlacementDecision& decision) { Tell(decisions_.Put(decision)); }
  void RemoveWritten(const kube::ObjectKey& decision) { Tell(decisions_.Remove(decision)); }

  // A field of the ManagedCluster has changed that only CEL may read.
  void TouchCluster(const std::string& name);
  // Calls `listener` when scores of a cluster have changed, before any Placement is woken.
  using ScoresListener = std::function<void(const std::string& cluster, const std::string& name)>;
  void OnScores(ScoresListener listener) { on_scores_ = std::move(listener); }

  // Calls `listener` when a Placement or its decisions have changed, also by this process; without
  // a name, when another answer of MaySelect() is possible in the namespace.
  using DecisionsListener = std::function<void(const kube::ObjectKey& placement)>;
  void OnDecisions(DecisionsListener listener) { on_decisions_ = std::move(listener); }

  // The watches are complete: wakes all Placements. Before this call, changes wake none.
  void WakeAll();
  bool complete() const { return complete_; }

  const Fleet& fleet() const { return fleet_; }
  const DecisionIndex& decisions() const { return decisions_; }
  // Valid until the Placement changes; nullptr if there is none.
  const Placement* Find(const kube::ObjectKey& placement) const;
  size_t placements() const { return placements_.size(); }
  // Which limit a Placement exceeds that exists and is not stored. nullopt for any other.
  std::optional<Excess> LeftOut(const kube::ObjectKey& placement) const;
  // The status of one that is left out was written.
  void SaidLeftOut(const kube::ObjectKey& placement);
  // Whether Placements of `ns` may select the cluster: it exists, and is in a set that is bound in
  // the namespace.
  bool MaySelect(const std::string& ns, const std::string& cluster) const;
  // Whether what the cluster publishes of image facts is shared: it is in a set that says so.
  bool SharesImageFacts(const std::string& cluster) const;
  // Whether the Placement exists and has CEL.
  bool HasCel(const kube::ObjectKey& placement) const;
  // Grows with each change of a Placement that has, or had, CEL.
  uint64_t cel_changes() const { return cel_changes_; }
  template <class Visit>
  void ForEachPlacement(const Visit& visit) const {
    for (const auto& [key, entry] : placements_) visit(entry.placement);
  }

 private:
  struct PlacementEntry {
    Placement placement;
    PlacementReads reads;
  };
  using Notices = std::function<bool(const PlacementReads&)>;

  // Whether a watch delivers what is stored already, or something older.
  static bool IsKnown(const Placement& stored, const Placement& delivered);
  void Store(Placement placement);
  // Returns: whether it was stored.
  bool Drop(const kube::ObjectKey& placement);
  std::set<std::string> SetsOf(const ManagedCluster& cluster) const;
  // Wakes the Placements that may select clusters of `set`, where `notices`.
  void WakeUsersOf(const std::string& set, const Notices& notices);
  void WakeOne(const kube::ObjectKey& placement);
  // Call the listener of decisions: of these Placements, of the namespaces that bind `set`.
  void Tell(const std::vector<kube::ObjectKey>& placements);
  void TellUsersOf(const std::string& set);
  // The same in one namespace.
  void WakeUsersIn(const std::string& ns, const std::string& set, const Notices& notices);
  void ChangeCluster(const ManagedCluster* before, const ManagedCluster* after);
  void ChangeScores(const std::string& cluster, const AddOnPlacementScore* before,
                    const AddOnPlacementScore* after);

  kube::Clock& clock_;
  Wake wake_;
  ScoresListener on_scores_;
  DecisionsListener on_decisions_;
  bool complete_ = false;
  uint64_t cel_changes_ = 0;
  Fleet fleet_;
  DecisionIndex decisions_{fleet_.decisions};
  std::map<std::string, SetMembers> members_;                        // by set
  std::set<std::string> sharing_sets_;                               // of SharesImageFacts()
  std::unordered_map<std::string, std::set<std::string>> bound_in_;  // set -> namespaces
  std::unordered_map<kube::ObjectKey, PlacementEntry> placements_;
  std::unordered_map<std::string, std::set<std::string>> placements_in_;  // namespace -> names
  // Placements that are not in placements_.
  std::unordered_map<kube::ObjectKey, Excess> left_out_;
};

}  // namespace fleet
