// SPDX-License-Identifier: Apache-2.0
// UpgradeQueue: which shards may get a new pod template, which restarts their pods.
//
// The operands of the cluster are first. Then some shards at a time: a turn ends when the shard
// runs with its new template, fails, or takes too long. Shards that fail may stop the upgrade: no
// other shard gets a turn. The owner of a namespace can make its shard fail, so
//
// - what the namespace causes (MayBeTheVersion() in status/remedies.h) stops nothing, nor does a
//   shard that did not run before its turn;
// - one namespace stops nothing: at least two, and half of the last 16 turns that ended, must fail;
// - the order depends on a secret, so that users cannot choose names that are first, and a shard
//   that had a turn comes after all that had none.
//
//   queue.Expect(store.ShardNamespaces());                 // at the start
//   queue.See("shop", {.outdated = true});                 // in each reconcile
//   if (queue.TakeTurn("shop")) ... apply the Deployments ...
//
// All input comes from the cluster's objects, so a new operator continues where the last one
// stopped.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "operator/status/rollout.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {

struct UpgradeOptions {
  // Namespaces whose shards are upgraded at the same time; 0 for all, without a stop.
  int at_a_time = 4;
  // A secret that gives the order. Empty: the order of the names.
  std::string order_seed;
  // The end of a turn in any case; more than the Deployments' progressDeadlineSeconds.
  kube::Duration turn = std::chrono::seconds(180);
};

// A shard as its Deployments show it.
struct ShardSeen {
  // A Deployment has an older template.
  bool outdated = false;
  // A Deployment has the new template instead of an older one, and its pods do not all run.
  bool rolling_out = false;
  // The shard ran with the older template.
  bool ran_before = false;
  // All its pods run with the new template.
  bool runs = false;
  // Why the shard does not run, or could not be upgraded.
  std::optional<Problem> problem;
  // The last attempt to apply the new template failed; it is repeated after a backoff.
  bool refused = false;
};

class UpgradeQueue {
 public:
  // `clock` outlives this.
  UpgradeQueue(kube::Clock& clock, UpgradeOptions options)
      : clock_(clock), options_(std::move(options)) {}

  // Called when a shard that waits may ask again, and when progress() has changed.
  void OnTurn(std::function<void(const std::string& ns)> listener) { on_turn_ = listener; }
  void OnProgress(std::function<void()> listener) { on_progress_ = listener; }

  // No shard gets a turn before these were seen: they may have failed.
  void Expect(const std::vector<std::string>& namespaces);
  // Whether the operands of the cluster run with their new templates.
  void SeeCluster(bool current);
  // A shard that has its turn has to be seen again after at most a minute.
  void See(const std::string& ns, const ShardSeen& seen);
  // The namespace has no shard.
  void Forget(const std::string& ns);

  // True if the shard of `ns`, seen as outdated, may be upgraded now. Its turn lasts until it is
  // seen to run or to fail, or as outdated again.
  bool TakeTurn(const std::string& ns);

  UpgradeProgress progress() const;

 private:
  enum class Phase { kCurrent, kOutdated, kRollingOut, kFailed };
  struct Shard {
    Phase phase = Phase::kCurrent;
    bool runs = false;
    bool refused = false;
    // The problem of a shard that failed, or that was refused.
    std::optional<Problem> problem;
    kube::TimePoint turn_began;
    int turns = 0;
  };
  // Turns so far, then the order of the seed.
  using Place = std::tuple<int, uint64_t, std::string>;

  Shard Next(const Shard* before, const ShardSeen& seen) const;
  void Put(const std::string& ns, Shard shard);
  Place PlaceOf(const std::string& ns, const Shard& shard) const;
  // Failed, and maybe because of the version.
  static bool Suspect(const Shard& shard);
  bool Stopped() const;
  int FreeTurns() const;
  // Among the next ones that get a free turn; true for a shard that does not wait.
  bool IsNext(const std::string& ns, int free) const;
  void Changed();

  kube::Clock& clock_;
  UpgradeOptions options_;
  std::function<void(const std::string&)> on_turn_;
  std::function<void()> on_progress_;
  bool cluster_current_ = false;
  std::set<std::string> expected_;
  std::map<std::string, Shard> shards_;
  // The shards in one phase.
  std::set<Place> waiting_;  // kOutdated, without those that were refused
  int outdated_ = 0;
  int rolling_out_ = 0;
  std::set<std::string> failed_;  // with a problem
  // The last turns that ended with a shard that runs or is suspect, oldest first.
  std::deque<std::string> ended_;
  UpgradeProgress reported_;
};

}  // namespace operator_
