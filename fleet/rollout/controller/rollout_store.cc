// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollout_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "fleet/rollout/progress.h"
#include "kube/base/one_line.h"
#include "kube/base/utf8.h"

namespace fleet {
namespace {

using kube::ObjectKey;

std::optional<uint64_t> NumberOf(const std::string& version) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  if (error != std::errc() || end != version.data() + version.size()) return {};
  return number;
}

// A watch may be behind what this process has written itself.
bool IsKnown(const std::string& stored, const std::string& delivered) {
  if (stored == delivered) return true;
  auto have = NumberOf(stored);
  auto got = NumberOf(delivered);
  return have && got && *got < *have;
}

ObjectKey KeyOf(const FleetPodPlacement& fleet) { return {fleet.ns, fleet.name}; }

}  // namespace

void RolloutStore::Put(FleetPodPlacement fleet) {
  ObjectKey key = KeyOf(fleet);
  auto& stored = fleets_[key];
  if (stored != nullptr && stored->uid == fleet.uid &&
      IsKnown(stored->resource_version, fleet.resource_version))
    return;
  if (stored != nullptr && stored->uid != fleet.uid) ForgetUnwritten(key);
  kind_.check(fleet);
  fleet.Pack();
  left_out_.erase(key);
  stored = std::make_shared<const FleetPodPlacement>(std::move(fleet));
  WakeOne(key);
}

void RolloutStore::PutWritten(FleetPodPlacement fleet) {
  ObjectKey key = KeyOf(fleet);
  auto found = fleets_.find(key);
  if (found == fleets_.end() || IsKnown(found->second->resource_version, fleet.resource_version))
    return;
  kind_.check(fleet);
  fleet.Pack();
  found->second = std::make_shared<const FleetPodPlacement>(std::move(fleet));
}

void RolloutStore::RemoveFleet(const ObjectKey& fleet) {
  fleets_.erase(fleet);
  left_out_.erase(fleet);
  ForgetUnwritten(fleet);
}

void RolloutStore::LeaveOut(const ObjectKey& fleet, Excess excess) {
  // Those that are not known otherwise are as many as users make.
  bool unknown = excess == Excess::kOwnerObjects || excess == Excess::kObjects;
  if (unknown && left_out_.size() >= kFleetBudget.objects) return;
  fleets_.erase(fleet);
  left_out_.insert_or_assign(fleet, excess);
  if (complete_) wake_(fleet);
}

std::optional<Excess> RolloutStore::LeftOut(const ObjectKey& fleet) const {
  auto found = left_out_.find(fleet);
  if (found == left_out_.end()) return std::nullopt;
  return found->second;
}

void RolloutStore::SaidLeftOut(const ObjectKey& fleet) {
  std::optional<Excess> excess = LeftOut(fleet);
  if (excess == Excess::kOwnerObjects || excess == Excess::kObjects) left_out_.erase(fleet);
}

void RolloutStore::CountOne(const std::string& ns) {
  ++work_count_;
  if (++works_of_[ns] > kShareOfWorks) ++beyond_shares_;
}

void RolloutStore::UncountOne(const std::string& ns) {
  auto of_namespace = works_of_.find(ns);
  --work_count_;
  if (of_namespace->second > kShareOfWorks) --beyond_shares_;
  if (--of_namespace->second == 0) works_of_.erase(of_namespace);
}

bool RolloutStore::HasRoom(const std::string& ns) const {
  auto found = works_of_.find(ns);
  size_t own = found == works_of_.end() ? 0 : found->second;
  return work_count_ < kMaxWorks && own < kMaxWorksOfNamespace &&
         (own < kShareOfWorks || beyond_shares_ < kMaxWorksBeyondShares);
}

void RolloutStore::ForgetUnwritten(const ObjectKey& fleet) {
  auto found = unwritten_.find(fleet);
  if (found == unwritten_.end()) return;
  for (size_t i = 0; i < found->second.size(); ++i) UncountOne(fleet.ns);
  unwritten_.erase(found);
}

ObjectKey RolloutStore::StoreWork(const PodPlacementWork& work) {
  // Others may use the labels, in a namespace that is theirs. An object that lost its labels is not
  // written any more: a creation finds the name taken, and says so.
  ObjectKey owner{work.owner_ns, work.owner_name};
  if (owner.name.empty() || work.name != WorkName(owner.ns, owner.name)) {
    RemoveWork({work.ns, work.name});
    return {};
  }
  auto [stored, added] = works_[owner].try_emplace(work.ns);
  if (!added && stored->second.uid == work.uid &&
      IsKnown(stored->second.resource_version, work.resource_version))
    return {};
  StoredWork next = StoredWorkOf(work);
  const ClusterWork* before =
      !added && stored->second.uid == work.uid ? &stored->second.state : nullptr;
  next.state = Follow(before, std::move(next.state), clock_.WallNow());
  stored->second = std::move(next);
  if (added) CountOne(owner.ns);
  owners_[{work.ns, work.name}] = owner;
  return owner;
}

void RolloutStore::Put(const PodPlacementWork& work) {
  ObjectKey owner = StoreWork(work);
  if (!owner.name.empty()) WakeOne(owner);
}

void RolloutStore::RemoveWork(const ObjectKey& work) {
  auto entry = owners_.find(work);
  if (entry == owners_.end()) return;
  ObjectKey owner = entry->second;
  owners_.erase(entry);
  auto works = works_.find(owner);
  if (works->second.erase(work.ns) > 0) UncountOne(owner.ns);
  if (works->second.empty()) works_.erase(works);
  WakeOne(owner);
}

void RolloutStore::RemoveWork(const ObjectKey& work, const std::string& uid) {
  auto owner = owners_.find(work);
  if (owner == owners_.end()) return;
  if (works_.at(owner->second).at(work.ns).uid == uid) RemoveWork(work);
}

void RolloutStore::SetCounted(const ObjectKey& fleet, const RolloutPlan& plan) {
  auto found = works_.find(fleet);
  if (found == works_.end()) return;
  for (const std::string& cluster : plan.succeeded) {
    ClusterWork& state = found->second.at(cluster).state;
    state.counted = true;
    if (plan.complete()) state.deadline_moved = false;
  }
}

void RolloutStore::SetUnwritten(const ObjectKey& fleet, const std::string& hash,
                                const std::map<std::string, FailedWrite>& failures) {
  if (!fleets_.contains(fleet)) return;  // removed while it was written
  std::map<std::string, Unwritten> before;
  if (auto found = unwritten_.find(fleet); found != unwritten_.end()) {
    before = found->second;
    ForgetUnwritten(fleet);
  }
  for (const auto& [cluster, failure] : failures) {
    // Without room, it is not known since when: it is written again all the same.
    if (!HasRoom(fleet.ns)) break;
    CountOne(fleet.ns);
    auto known = before.find(cluster);
    bool same = known != before.end() && known->second.state.hash == hash;
    Unwritten& unwritten = unwritten_[fleet][cluster];
    unwritten.refused_at = failure.refused_at;
    unwritten.state = {
        .hash = hash,
        .given_at = same ? known->second.state.given_at : clock_.WallNow(),
        .message = std::string(kube::CutUtf8(kube::OneLine(failure.error), kMaxFailureMessage)),
        .unwritten = true};
  }
}

std::map<std::string, FailedWrite> RolloutStore::RefusedOf(const ObjectKey& fleet,
                                                           const std::string& hash) const {
  std::map<std::string, FailedWrite> refused;
  auto found = unwritten_.find(fleet);
  if (found == unwritten_.end()) return refused;
  const kube::WallTime now = clock_.WallNow();
  for (const auto& [cluster, unwritten] : found->second) {
    const auto& since = unwritten.refused_at;
    // Not if the clock was ahead at the refusal.
    bool waits = since && *since <= now && now < *since + kRefusedRetry;
    if (waits && unwritten.state.hash == hash)
      refused[cluster] = {.error = unwritten.state.message, .refused_at = since};
  }
  return refused;
}

std::map<std::string, ClusterWork> RolloutStore::StatesOf(const ObjectKey& fleet) {
  const kube::WallTime now = clock_.WallNow();
  std::map<std::string, ClusterWork> states;
  if (auto works = works_.find(fleet); works != works_.end()) {
    for (auto& [cluster, work] : works->second) {
      SetBack(work.state, now);
      states.emplace_hint(states.end(), cluster, work.state);
    }
  }
  auto unwritten = unwritten_.find(fleet);
  if (unwritten == unwritten_.end()) return states;
  for (auto& [cluster, entry] : unwritten->second) {
    ClusterWork& work = entry.state;
    SetBack(work, now);
    auto [state, absent] = states.emplace(cluster, work);
    if (absent || state->second.deleting || state->second.hash == work.hash) continue;
    state->second = work;
    state->second.unwritten = false;
  }
  return states;
}

void RolloutStore::PlacementChanged(const ObjectKey& placement) {
  for (auto next = fleets_.lower_bound({placement.ns, ""});
       next != fleets_.end() && next->first.ns == placement.ns; ++next) {
    const auto& refs = next->second->spec.placements;
    if (placement.name.empty() ||
        std::any_of(refs.begin(), refs.end(),
                    [&](const PlacementRef& ref) { return ref.name == placement.name; }))
      WakeOne(next->first);
  }
}

void RolloutStore::WakeOne(const ObjectKey& fleet) {
  if (complete_ && (fleets_.contains(fleet) || left_out_.contains(fleet))) wake_(fleet);
}

void RolloutStore::WakeAll() {
  complete_ = true;
  for (const auto& [key, fleet] : fleets_) wake_(key);
  for (const auto& [key, excess] : left_out_) wake_(key);
}

std::shared_ptr<const FleetPodPlacement> RolloutStore::Find(const ObjectKey& fleet) const {
  auto found = fleets_.find(fleet);
  return found == fleets_.end() ? nullptr : found->second;
}

const RolloutStore::Works& RolloutStore::WorksOf(const ObjectKey& fleet) const {
  static const Works kNone;
  auto found = works_.find(fleet);
  return found == works_.end() ? kNone : found->second;
}

}  // namespace fleet
