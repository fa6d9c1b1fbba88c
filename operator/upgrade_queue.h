// SPDX-License-Identifier: Apache-2.0
// UpgradeQueue: which shards may get a new pod template, which restarts their pods. Pure.
//
// The operands of the cluster are first. Then some shards at a time: a turn ends when the shard
// runs with its new template. A shard that does not get there stops the upgrade: no other shard
// gets a turn until it runs, or is removed. A shard that did not run before its turn does not stop
// the upgrade, as its problem is older.
//
//   queue.Expect(store.ShardNamespaces());                 // at the start
//   queue.See("shop", {.outdated = true});                 // in each reconcile
//   if (queue.TakeTurn("shop")) ... apply the Deployments ...
//
// All input comes from the cluster's objects, so a new operator goes on where the last one was.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/status/rollout.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {

// A shard as its Deployments show it.
struct ShardSeen {
  // A Deployment has an older template.
  bool outdated = false;
  // A Deployment has the new template instead of an older one, and its pods do not all run.
  bool rolling_out = false;
  // The shard ran with the older template.
  bool ran_before = false;
  // Why the shard does not run.
  std::optional<Problem> problem;
  // The last attempt to apply the new template failed; it is repeated after a backoff.
  bool refused = false;
};

class UpgradeQueue {
 public:
  // `at_a_time`: 0 for all at once, without a stop.
  explicit UpgradeQueue(int at_a_time) : at_a_time_(at_a_time) {}

  // Called when a shard that waits may ask again, and when progress() has changed.
  void OnTurn(std::function<void(const std::string& ns)> listener) { on_turn_ = listener; }
  void OnProgress(std::function<void()> listener) { on_progress_ = listener; }

  // No shard gets a turn before these were seen: one of them may have failed.
  void Expect(const std::vector<std::string>& namespaces);
  // Whether the operands of the cluster run with their new templates.
  void SeeCluster(bool current);
  void See(const std::string& ns, const ShardSeen& seen);
  // The namespace has no shard.
  void Forget(const std::string& ns);

  // True if the shard of `ns`, seen as outdated, may be upgraded now. It has its turn until it is
  // seen without `outdated` and `rolling_out`, or as outdated again.
  bool TakeTurn(const std::string& ns);

  UpgradeProgress progress() const;

 private:
  enum class Phase { kCurrent, kOutdated, kRollingOut, kFailed };
  struct Shard {
    Phase phase = Phase::kCurrent;
    Problem problem;
    bool refused = false;
  };

  // What `seen` means for a shard that was in `before`.
  static Shard Next(const Shard& before, const ShardSeen& seen);
  void Put(const std::string& ns, Shard shard);
  int FreeTurns() const;
  void Changed();

  int at_a_time_;
  std::function<void(const std::string&)> on_turn_;
  std::function<void()> on_progress_;
  bool cluster_current_ = false;
  std::set<std::string> expected_;
  std::map<std::string, Shard> shards_;
  // The shards in one phase.
  std::set<std::string> waiting_;  // kOutdated, without those that were refused
  int outdated_ = 0;
  int rolling_out_ = 0;
  std::set<std::string> failed_;
  UpgradeProgress reported_;
};

}  // namespace operator_
