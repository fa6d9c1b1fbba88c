// SPDX-License-Identifier: Apache-2.0
#include "operator/upgrade_queue.h"

#include <utility>

namespace operator_ {

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
  Put(ns, Next(known == shards_.end() ? Shard() : known->second, seen));
  Changed();
}

void UpgradeQueue::Forget(const std::string& ns) {
  bool expected = expected_.erase(ns) > 0;
  if (!shards_.contains(ns) && !expected) return;
  Put(ns, Shard());
  shards_.erase(ns);
  Changed();
}

UpgradeQueue::Shard UpgradeQueue::Next(const Shard& before, const ShardSeen& seen) {
  Shard shard{.refused = seen.refused};
  if (seen.outdated) {
    shard.phase = Phase::kOutdated;
  } else if (!seen.rolling_out) {
    shard.phase = Phase::kCurrent;
  } else if (!seen.ran_before) {
    // Its turn ends with its problem: others do not wait for it.
    shard.phase = seen.problem ? Phase::kCurrent : Phase::kRollingOut;
  } else if (seen.problem) {
    shard.phase = Phase::kFailed;
    shard.problem = *seen.problem;
  } else if (before.phase == Phase::kFailed) {
    // A container that crashes shows no problem between two crashes.
    shard.phase = Phase::kFailed;
    shard.problem = before.problem;
  } else {
    shard.phase = Phase::kRollingOut;
  }
  return shard;
}

void UpgradeQueue::Put(const std::string& ns, Shard shard) {
  Shard& stored = shards_[ns];
  outdated_ += (shard.phase == Phase::kOutdated) - (stored.phase == Phase::kOutdated);
  rolling_out_ += (shard.phase == Phase::kRollingOut) - (stored.phase == Phase::kRollingOut);
  stored = std::move(shard);
  waiting_.erase(ns);
  failed_.erase(ns);
  if (stored.phase == Phase::kOutdated && !stored.refused) waiting_.insert(ns);
  if (stored.phase == Phase::kFailed) failed_.insert(ns);
}

int UpgradeQueue::FreeTurns() const {
  if (!cluster_current_ || !expected_.empty() || !failed_.empty()) return 0;
  return at_a_time_ - rolling_out_;
}

bool UpgradeQueue::TakeTurn(const std::string& ns) {
  if (at_a_time_ <= 0) return true;
  auto shard = shards_.find(ns);
  if (shard != shards_.end() && shard->second.phase == Phase::kRollingOut) return true;
  if (FreeTurns() <= 0) return false;
  Put(ns, {.phase = Phase::kRollingOut});
  return true;
}

UpgradeProgress UpgradeQueue::progress() const {
  UpgradeProgress progress{.shards = static_cast<int>(shards_.size()),
                           .outdated = outdated_,
                           .rolling_out = rolling_out_,
                           .known = expected_.empty(),
                           .cluster_current = cluster_current_};
  for (const std::string& ns : failed_) progress.failed[ns] = shards_.at(ns).problem;
  return progress;
}

void UpgradeQueue::Changed() {
  if (on_turn_) {
    // A shard that is called takes its turn in its next reconcile.
    int free = FreeTurns();
    for (auto ns = waiting_.begin(); ns != waiting_.end() && free > 0; ++ns, --free) on_turn_(*ns);
  }
  UpgradeProgress now = progress();
  if (now == reported_) return;
  reported_ = std::move(now);
  if (on_progress_) on_progress_();
}

}  // namespace operator_
