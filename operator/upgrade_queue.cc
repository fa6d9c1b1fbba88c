// SPDX-License-Identifier: Apache-2.0
#include "operator/upgrade_queue.h"

#include <algorithm>
#include <utility>

#include "operator/status/remedies.h"

namespace operator_ {
namespace {

constexpr size_t kLastTurns = 16;
constexpr int kMinToStop = 2;

}  // namespace

void UpgradeQueue::Expect(const std::vector<std::string>& namespaces) {
  expected_.insert(namespaces.begin(), namespaces.end());
}

void UpgradeQueue::SeeCluster(bool current) {
  if (current == cluster_current_) return;
  cluster_current_ = current;
  Changed();
}

void UpgradeQueue::See(const std::string& ns, const ShardSeen& seen) {
  expected_.erase(ns);
  auto known = shards_.find(ns);
  Put(ns, Next(known == shards_.end() ? nullptr : &known->second, seen));
  Changed();
}

void UpgradeQueue::Forget(const std::string& ns) {
  bool expected = expected_.erase(ns) > 0;
  if (!shards_.contains(ns) && !expected) return;
  Put(ns, Shard());
  std::erase(ended_, ns);
  shards_.erase(ns);
  Changed();
}

UpgradeQueue::Shard UpgradeQueue::Next(const Shard* before, const ShardSeen& seen) const {
  Shard shard{.turns = before == nullptr ? 0 : before->turns};
  if (seen.outdated) {
    shard.phase = Phase::kOutdated;
    shard.refused = seen.refused;
    if (seen.refused) shard.problem = seen.problem;
    return shard;
  }
  if (!seen.rolling_out) {
    shard.runs = seen.runs;
    return shard;
  }
  // What did not run before counts neither as running nor as failed.
  if (seen.problem) {
    if (!seen.ran_before) return shard;
    shard.phase = Phase::kFailed;
    shard.problem = seen.problem;
    return shard;
  }
  // A container that crashes shows no problem between two crashes. A shard that had its turn gets
  // no other one when its pods are replaced.
  if (before != nullptr && (before->phase == Phase::kFailed || before->phase == Phase::kCurrent)) {
    shard.phase = before->phase;
    shard.problem = before->problem;
    return shard;
  }
  bool in_turn = before != nullptr && before->phase == Phase::kRollingOut;
  shard.turn_began = in_turn ? before->turn_began : clock_.Now();
  shard.phase = Phase::kRollingOut;
  if (clock_.Now() < shard.turn_began + options_.turn) return shard;
  shard.phase = seen.ran_before ? Phase::kFailed : Phase::kCurrent;
  if (seen.ran_before)
    shard.problem = Problem{"UpgradeTimeout", "the upgrade has neither ended nor failed in time"};
  return shard;
}

void UpgradeQueue::Put(const std::string& ns, Shard shard) {
  bool first = !shards_.contains(ns);
  Shard& stored = shards_[ns];
  bool turn_ends = first || stored.phase == Phase::kRollingOut;
  outdated_ += (shard.phase == Phase::kOutdated) - (stored.phase == Phase::kOutdated);
  rolling_out_ += (shard.phase == Phase::kRollingOut) - (stored.phase == Phase::kRollingOut);
  waiting_.erase(PlaceOf(ns, stored));
  stored = std::move(shard);
  if (stored.phase == Phase::kOutdated && !stored.refused) waiting_.insert(PlaceOf(ns, stored));
  failed_.erase(ns);
  if (stored.problem) failed_.insert(ns);

  if (stored.phase == Phase::kOutdated || stored.phase == Phase::kRollingOut) {
    std::erase(ended_, ns);
  } else if (turn_ends && (stored.runs || Suspect(stored))) {
    ended_.push_back(ns);
    if (ended_.size() > kLastTurns) ended_.pop_front();
  }
}

UpgradeQueue::Place UpgradeQueue::PlaceOf(const std::string& ns, const Shard& shard) const {
  uint64_t order =
      options_.order_seed.empty() ? 0 : std::hash<std::string>()(options_.order_seed + "/" + ns);
  return {shard.turns, order, ns};
}

bool UpgradeQueue::Suspect(const Shard& shard) {
  return shard.phase == Phase::kFailed && MayBeTheVersion(shard.problem->reason);
}

bool UpgradeQueue::Stopped() const {
  if (options_.at_a_time <= 0) return false;
  auto suspects = std::count_if(ended_.begin(), ended_.end(),
                                [this](const std::string& ns) { return Suspect(shards_.at(ns)); });
  return suspects >= kMinToStop && 2 * static_cast<size_t>(suspects) >= ended_.size();
}

int UpgradeQueue::FreeTurns() const {
  if (!cluster_current_ || !expected_.empty() || Stopped()) return 0;
  return options_.at_a_time - rolling_out_;
}

bool UpgradeQueue::IsNext(const std::string& ns, int free) const {
  auto shard = shards_.find(ns);
  if (shard == shards_.end() || !waiting_.contains(PlaceOf(ns, shard->second))) return true;
  for (auto next = waiting_.begin(); next != waiting_.end() && free > 0; ++next, --free) {
    if (std::get<std::string>(*next) == ns) return true;
  }
  return false;
}

bool UpgradeQueue::TakeTurn(const std::string& ns) {
  auto known = shards_.find(ns);
  if (known != shards_.end() && known->second.phase == Phase::kRollingOut) return true;
  if (options_.at_a_time > 0) {
    int free = FreeTurns();
    if (free <= 0 || !IsNext(ns, free)) return false;
  }
  int turns = known == shards_.end() ? 0 : known->second.turns;
  Put(ns, {.phase = Phase::kRollingOut, .turn_began = clock_.Now(), .turns = turns + 1});
  return true;
}

UpgradeProgress UpgradeQueue::progress() const {
  UpgradeProgress progress{.shards = static_cast<int>(shards_.size()),
                           .outdated = outdated_,
                           .rolling_out = rolling_out_,
                           .stopped = Stopped(),
                           .known = expected_.empty(),
                           .cluster_current = cluster_current_};
  for (const std::string& ns : failed_) {
    const Shard& shard = shards_.at(ns);
    progress.failed[ns] = *shard.problem;
    progress.refused += shard.phase == Phase::kOutdated;
  }
  return progress;
}

void UpgradeQueue::Changed() {
  if (on_turn_) {
    // A shard that was notified takes its turn in its next reconcile.
    int free = FreeTurns();
    for (auto next = waiting_.begin(); next != waiting_.end() && free > 0; ++next, --free)
      on_turn_(std::get<std::string>(*next));
  }
  UpgradeProgress now = progress();
  if (now == reported_) return;
  reported_ = std::move(now);
  if (on_progress_) on_progress_();
}

}  // namespace operator_
