// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/fleet_store.h"

#include <algorithm>
#include <utility>

namespace fleet {

using kube::ObjectKey;

void FleetStore::Put(ManagedCluster cluster) {
  auto found = fleet_.clusters.find(cluster.name);
  if (found == fleet_.clusters.end()) {
    std::string name = cluster.name;
    ChangeCluster(nullptr,
                  &fleet_.clusters.emplace(std::move(name), std::move(cluster)).first->second);
    return;
  }
  ManagedCluster before = std::exchange(found->second, std::move(cluster));
  ChangeCluster(&before, &found->second);
}

void FleetStore::RemoveCluster(const std::string& name) {
  auto node = fleet_.clusters.extract(name);
  if (!node.empty()) ChangeCluster(&node.mapped(), nullptr);
}

void FleetStore::ChangeCluster(const ManagedCluster* before, const ManagedCluster* after) {
  if (!complete_) return;
  std::set<std::string> sets_before = before == nullptr ? std::set<std::string>() : SetsOf(*before);
  std::set<std::string> sets_after = after == nullptr ? std::set<std::string>() : SetsOf(*after);
  bool same = before != nullptr && after != nullptr && *before == *after;
  for (const std::string& set : sets_before) {
    bool stays = sets_after.erase(set) > 0;
    if (!stays) TellUsersOf(set);
    WakeUsersOf(set, [&](const PlacementReads& reads) {
      return !stays || ((!same || reads.whole_object()) && reads.Notices(*before, *after));
    });
  }
  for (const std::string& set : sets_after) {
    TellUsersOf(set);
    WakeUsersOf(set, [](const PlacementReads&) { return true; });
  }
}

void FleetStore::TouchCluster(const std::string& name) {
  auto found = fleet_.clusters.find(name);
  if (found != fleet_.clusters.end()) ChangeCluster(&found->second, &found->second);
}

std::set<std::string> FleetStore::SetsOf(const ManagedCluster& cluster) const {
  std::set<std::string> sets;
  for (const auto& [name, members] : members_) {
    if (members.Contains(cluster)) sets.insert(name);
  }
  return sets;
}

void FleetStore::Put(ManagedClusterSet set) {
  std::string name = set.name;
  auto found = fleet_.sets.find(name);
  // The status of a set changes with each cluster.
  bool same = found != fleet_.sets.end() && found->second.uid == set.uid &&
              found->second.generation == set.generation && set.generation != 0;
  SetMembers members;
  members.Add(set);
  members_.insert_or_assign(name, std::move(members));
  if (set.shares_image_facts && !set.deleting) {
    sharing_sets_.insert(name);
  } else {
    sharing_sets_.erase(name);
  }
  fleet_.sets.insert_or_assign(name, std::move(set));
  if (same) return;
  TellUsersOf(name);
  WakeUsersOf(name, [](const PlacementReads&) { return true; });
}

void FleetStore::RemoveSet(const std::string& name) {
  sharing_sets_.erase(name);
  members_.erase(name);
  if (fleet_.sets.erase(name) == 0) return;
  TellUsersOf(name);
  WakeUsersOf(name, [](const PlacementReads&) { return true; });
}

void FleetStore::Put(ManagedClusterSetBinding binding) {
  // It has the name of its set, or binds nothing.
  if (binding.cluster_set.empty()) return RemoveBinding({binding.ns, binding.name});
  if (!fleet_.bindings[binding.ns].insert(binding.cluster_set).second) return;
  bound_in_[binding.cluster_set].insert(binding.ns);
  Tell({ObjectKey{binding.ns, ""}});
  WakeUsersIn(binding.ns, binding.cluster_set, [](const PlacementReads&) { return true; });
}

void FleetStore::RemoveBinding(const ObjectKey& binding) {
  auto bound = fleet_.bindings.find(binding.ns);
  if (bound == fleet_.bindings.end() || bound->second.erase(binding.name) == 0) return;
  if (bound->second.empty()) fleet_.bindings.erase(bound);
  auto namespaces = bound_in_.find(binding.name);
  namespaces->second.erase(binding.ns);
  if (namespaces->second.empty()) bound_in_.erase(namespaces);
  Tell({ObjectKey{binding.ns, ""}});
  WakeUsersIn(binding.ns, binding.name, [](const PlacementReads&) { return true; });
}

void FleetStore::Put(AddOnPlacementScore scores) {
  std::map<std::string, AddOnPlacementScore>& of_cluster = fleet_.scores[scores.cluster];
  std::string cluster = scores.cluster;
  auto found = of_cluster.find(scores.name);
  if (found == of_cluster.end()) {
    std::string name = scores.name;
    ChangeScores(cluster, nullptr,
                 &of_cluster.emplace(std::move(name), std::move(scores)).first->second);
    return;
  }
  AddOnPlacementScore before = std::exchange(found->second, std::move(scores));
  ChangeScores(cluster, &before, &found->second);
}

void FleetStore::RemoveScore(const ObjectKey& scores) {
  auto of_cluster = fleet_.scores.find(scores.ns);
  if (of_cluster == fleet_.scores.end()) return;
  auto node = of_cluster->second.extract(scores.name);
  if (node.empty()) return;
  if (of_cluster->second.empty()) fleet_.scores.erase(of_cluster);
  ChangeScores(scores.ns, &node.mapped(), nullptr);
}

void FleetStore::ChangeScores(const std::string& cluster, const AddOnPlacementScore* before,
                              const AddOnPlacementScore* after) {
  if (on_scores_) on_scores_(cluster, (after == nullptr ? before : after)->name);
  if (!complete_) return;
  auto found = fleet_.clusters.find(cluster);
  if (found == fleet_.clusters.end()) return;
  kube::WallTime now = clock_.WallNow();
  for (const std::string& set : SetsOf(found->second)) {
    WakeUsersOf(set,
                [&](const PlacementReads& reads) { return reads.Notices(before, after, now); });
  }
}

void FleetStore::Put(Placement placement) {
  ObjectKey key{placement.ns, placement.name};
  const Placement* stored = Find(key);
  if (stored != nullptr && IsKnown(*stored, placement)) return;
  Store(std::move(placement));
  WakeOne(key);
}

void FleetStore::PutWritten(Placement placement) {
  // It may have been deleted since.
  if (Find({placement.ns, placement.name}) != nullptr) Store(std::move(placement));
}

bool FleetStore::IsKnown(const Placement& stored, const Placement& delivered) {
  if (stored.uid != delivered.uid) return false;
  if (IsOlderVersion(delivered.resource_version, stored.resource_version)) return true;
  return delivered.generation != 0 && stored.generation == delivered.generation &&
         stored.deleting == delivered.deleting &&
         stored.scheduling_disabled == delivered.scheduling_disabled &&
         stored.scheduler == delivered.scheduler && stored.status == delivered.status;
}

void FleetStore::Store(Placement placement) {
  ObjectKey key{placement.ns, placement.name};
  left_out_.erase(key);
  placements_in_[key.ns].insert(key.name);
  PlacementReads reads(placement.spec);
  if (reads.whole_object() || HasCel(key)) ++cel_changes_;
  placements_.insert_or_assign(key, PlacementEntry{std::move(placement), std::move(reads)});
  Tell({std::move(key)});
}

bool FleetStore::Drop(const ObjectKey& placement) {
  if (HasCel(placement)) ++cel_changes_;
  if (placements_.erase(placement) == 0) return false;
  auto names = placements_in_.find(placement.ns);
  names->second.erase(placement.name);
  if (names->second.empty()) placements_in_.erase(names);
  return true;
}

void FleetStore::RemovePlacement(const ObjectKey& placement) {
  bool known = left_out_.erase(placement) > 0;
  known = Drop(placement) || known;
  if (!known) return;
  Tell({placement});
  // It may have waited for a time.
  if (complete_) wake_(placement);
}

void FleetStore::LeaveOut(const ObjectKey& placement, Excess excess) {
  // Those that are not known otherwise are as many as users make.
  bool unknown = excess == Excess::kOwnerObjects || excess == Excess::kObjects;
  if (unknown && left_out_.size() >= kPlacementBudget.objects) return;
  bool stored = Drop(placement);
  left_out_.insert_or_assign(placement, excess);
  if (stored) Tell({placement});
  if (complete_) wake_(placement);
}

void FleetStore::LeaveOutCluster(const std::string& name, ManagedCluster* read) {
  auto stored = fleet_.clusters.find(name);
  if (read == nullptr && stored == fleet_.clusters.end()) return;
  ManagedCluster bare = read == nullptr ? stored->second : std::move(*read);
  bare.claims = Properties();
  bare.problems.clear();
  if (KeptBytes(bare, kube::Json()) > kMaxBareClusterBytes) return RemoveCluster(name);
  Put(std::move(bare));
}

std::optional<Excess> FleetStore::LeftOut(const ObjectKey& placement) const {
  auto found = left_out_.find(placement);
  if (found == left_out_.end()) return std::nullopt;
  return found->second;
}

void FleetStore::SaidLeftOut(const ObjectKey& placement) {
  std::optional<Excess> excess = LeftOut(placement);
  if (excess == Excess::kOwnerObjects || excess == Excess::kObjects) left_out_.erase(placement);
}

void FleetStore::LeaveOutDecision(const ObjectKey& decision, Excess excess,
                                  PlacementDecision* read) {
  std::vector<ObjectKey> placements;
  if (read == nullptr) {
    placements = decisions_.LeaveOut(decision);
  } else if (excess == Excess::kOwnerObjects || excess == Excess::kObjects) {
    decisions_.SetOverflow(decision.ns);
    if (!read->placement.empty()) placements.push_back({decision.ns, read->placement});
  } else {
    placements = decisions_.LeaveOut(std::move(*read));
  }
  Tell(placements);
  for (const ObjectKey& placement : placements) WakeOne(placement);
}

void FleetStore::Put(const PlacementDecision& decision) {
  std::vector<ObjectKey> placements = decisions_.Put(decision);
  Tell(placements);
  for (const ObjectKey& placement : placements) WakeOne(placement);
}

void FleetStore::RemoveDecision(const ObjectKey& decision) {
  std::vector<ObjectKey> placements = decisions_.Remove(decision);
  Tell(placements);
  for (const ObjectKey& placement : placements) WakeOne(placement);
}

void FleetStore::Tell(const std::vector<ObjectKey>& placements) {
  if (!on_decisions_) return;
  for (const ObjectKey& placement : placements) on_decisions_(placement);
}

void FleetStore::TellUsersOf(const std::string& set) {
  auto namespaces = bound_in_.find(set);
  if (!on_decisions_ || namespaces == bound_in_.end()) return;
  for (const std::string& ns : namespaces->second) on_decisions_({ns, ""});
}

void FleetStore::WakeAll() {
  complete_ = true;
  for (const auto& [key, entry] : placements_) wake_(key);
  for (const auto& [key, excess] : left_out_) wake_(key);
}

const Placement* FleetStore::Find(const ObjectKey& placement) const {
  auto found = placements_.find(placement);
  return found == placements_.end() ? nullptr : &found->second.placement;
}

bool FleetStore::MaySelect(const std::string& ns, const std::string& cluster) const {
  auto known = fleet_.clusters.find(cluster);
  auto bound = fleet_.bindings.find(ns);
  if (known == fleet_.clusters.end() || bound == fleet_.bindings.end()) return false;
  return std::any_of(bound->second.begin(), bound->second.end(), [&](const std::string& set) {
    auto members = members_.find(set);
    return members != members_.end() && members->second.Contains(known->second);
  });
}

bool FleetStore::SharesImageFacts(const std::string& cluster) const {
  auto known = fleet_.clusters.find(cluster);
  if (known == fleet_.clusters.end()) return false;
  return std::any_of(sharing_sets_.begin(), sharing_sets_.end(), [&](const std::string& set) {
    return members_.at(set).Contains(known->second);
  });
}

bool FleetStore::HasCel(const ObjectKey& placement) const {
  auto found = placements_.find(placement);
  return found != placements_.end() && found->second.reads.whole_object();
}

void FleetStore::WakeOne(const ObjectKey& placement) {
  if (complete_ && placements_.contains(placement)) wake_(placement);
}

void FleetStore::WakeUsersOf(const std::string& set, const Notices& notices) {
  auto namespaces = bound_in_.find(set);
  if (!complete_ || namespaces == bound_in_.end()) return;
  for (const std::string& ns : namespaces->second) WakeUsersIn(ns, set, notices);
}

void FleetStore::WakeUsersIn(const std::string& ns, const std::string& set,
                             const Notices& notices) {
  auto names = placements_in_.find(ns);
  if (!complete_ || names == placements_in_.end()) return;
  for (const std::string& name : names->second) {
    ObjectKey key{ns, name};
    const PlacementEntry& entry = placements_.at(key);
    const std::vector<std::string>& named = entry.placement.spec.cluster_sets;
    bool uses = named.empty() || std::find(named.begin(), named.end(), set) != named.end();
    if (uses && notices(entry.reads)) wake_(key);
  }
}

}  // namespace fleet
