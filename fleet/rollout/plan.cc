// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/plan.h"

#include <algorithm>

#include "fleet/rollout/progress.h"
#include "kube/base/utf8.h"

namespace fleet {
namespace {

using kube::WallTime;

// The clusters of one decision group that belong to this Placement, sorted.
struct OwnGroup {
  int64_t index = 0;
  std::string name;
  std::vector<std::string> clusters;
};

// Plans the clusters of one Placement.
class PlacementPlanner {
 public:
  PlacementPlanner(const PlacementRollout& placement, std::vector<OwnGroup> groups,
                   const std::map<std::string, ClusterWork>& works, std::string_view newest,
                   WallTime now)
      : placement_(placement),
        strategy_(placement.strategy),
        groups_(std::move(groups)),
        now_(now) {
    for (const OwnGroup& group : groups_) {
      for (const std::string& cluster : group.clusters) {
        auto work = works.find(cluster);
        const ClusterWork* has = work == works.end() ? nullptr : &work->second;
        progress_.emplace(cluster, ProgressOf(has, newest, strategy_, now));
      }
    }
  }

  // Gives the newest objects to the clusters whose turn it is.
  void Plan() {
    std::vector<OwnGroup> rest = TakeMandatoryGroups();
    for (const OwnGroup& group : mandatory_) {
      if (!GiveGroup(group, /*max_failures=*/0)) return;
    }
    switch (strategy_.type) {
      case RolloutType::kAll:
        for (const OwnGroup& group : rest) Give(group.clusters);
        return;
      case RolloutType::kProgressive:
        GiveByName(rest);
        return;
      case RolloutType::kProgressivePerGroup:
        for (const OwnGroup& group : rest) {
          int64_t size = static_cast<int64_t>(group.clusters.size());
          if (!GiveGroup(group, CountOf(strategy_.max_failures, size, 0))) return;
        }
        return;
    }
  }

  const std::map<std::string, Progress>& progress() const { return progress_; }
  const std::string& stopped() const { return stopped_; }

 private:
  // Moves the mandatory groups, in their order, to mandatory_. Returns the others, by index.
  std::vector<OwnGroup> TakeMandatoryGroups() {
    std::vector<bool> taken(groups_.size());
    if (strategy_.type != RolloutType::kAll) {
      for (const MandatoryGroup& wanted : strategy_.mandatory_groups) {
        for (size_t i = 0; i < groups_.size(); ++i) {
          const OwnGroup& group = groups_[i];
          bool matches =
              wanted.name.empty() ? group.index == wanted.index : group.name == wanted.name;
          if (taken[i] || !matches) continue;
          taken[i] = true;
          mandatory_.push_back(group);
        }
      }
    }
    std::vector<OwnGroup> rest;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (!taken[i]) rest.push_back(std::move(groups_[i]));
    }
    return rest;
  }

  // Returns: true if the next group may begin.
  bool GiveGroup(const OwnGroup& group, int64_t max_failures) {
    int64_t failures = FailuresIn(group.clusters);
    if (failures > max_failures) {
      Stop(failures, max_failures);
      return false;
    }
    Give(group.clusters);
    return std::all_of(group.clusters.begin(), group.clusters.end(), [&](const auto& cluster) {
      Stage stage = progress_.at(cluster).stage;
      return stage == Stage::kSucceeded || stage == Stage::kFailed || stage == Stage::kTimedOut;
    });
  }

  void GiveByName(const std::vector<OwnGroup>& rest) {
    int64_t failures = 0;
    for (const auto& [cluster, progress] : progress_) failures += IsFailure(progress.stage);
    int64_t max_failures =
        CountOf(strategy_.max_failures, static_cast<int64_t>(progress_.size()), 0);
    if (failures > max_failures) return Stop(failures, max_failures);

    std::vector<std::string> clusters;
    for (const OwnGroup& group : rest)
      clusters.insert(clusters.end(), group.clusters.begin(), group.clusters.end());
    std::sort(clusters.begin(), clusters.end());
    int64_t total = static_cast<int64_t>(clusters.size());
    int64_t slots = CountOf(strategy_.max_concurrency, total, total);
    int64_t newest = 0;  // in the middle of the change to the newest objects
    int64_t older = 0;   // in the middle of an older one
    for (const std::string& cluster : clusters) {
      newest += InProgress(progress_.at(cluster).stage);
      older += progress_.at(cluster).older_unfinished;
    }
    for (bool unfinished : {true, false}) {
      for (const std::string& cluster : clusters) {
        Progress& progress = progress_.at(cluster);
        if (progress.stage != Stage::kWaiting || progress.older_unfinished != unfinished) continue;
        if (newest + (unfinished ? 0 : older) >= slots) break;
        Give({cluster});
        newest += 1;
        older -= unfinished;
      }
    }
  }

  void Give(const std::vector<std::string>& clusters) {
    for (const std::string& cluster : clusters) {
      Progress& progress = progress_.at(cluster);
      if (progress.stage != Stage::kWaiting) continue;
      // The write of the objects causes no other plan before the deadline.
      progress = {.stage = Stage::kProgressing};
      if (strategy_.progress_deadline) progress.until = now_ + *strategy_.progress_deadline;
    }
  }

  int64_t FailuresIn(const std::vector<std::string>& clusters) const {
    return std::count_if(clusters.begin(), clusters.end(), [&](const auto& cluster) {
      return IsFailure(progress_.at(cluster).stage);
    });
  }

  void Stop(int64_t failures, int64_t max_failures) {
    bool waiting = std::any_of(progress_.begin(), progress_.end(), [](const auto& entry) {
      return entry.second.stage == Stage::kWaiting;
    });
    if (!waiting) return;
    stopped_ = "Placement " + placement_.name + ": " + std::to_string(failures) +
               (failures == 1 ? " cluster" : " clusters") + " failed or timed out, and at most " +
               std::to_string(max_failures) + " may";
  }

  const PlacementRollout& placement_;
  const RolloutStrategy& strategy_;
  std::vector<OwnGroup> groups_;
  const WallTime now_;
  std::vector<OwnGroup> mandatory_;
  std::map<std::string, Progress> progress_;
  std::string stopped_;
};

// The decision groups by index, with the clusters that no earlier Placement has; these are added
// to `plan`.
std::vector<OwnGroup> TakeGroups(const PlacementRollout& placement, RolloutPlan& plan) {
  std::map<int64_t, OwnGroup> groups;  // several pages may have one index
  for (const DecidedGroup& decided : placement.groups) {
    OwnGroup& group = groups[decided.index];
    group.index = decided.index;
    group.name = decided.name;
    for (const std::string& cluster : decided.clusters) {
      if (plan.targets.emplace(cluster, Target::kUnchanged).second)
        group.clusters.push_back(cluster);
    }
  }
  std::vector<OwnGroup> own;
  for (auto& [index, group] : groups) {
    std::sort(group.clusters.begin(), group.clusters.end());
    own.push_back(std::move(group));
  }
  return own;
}

void Count(Stage stage, RolloutCounts& counts) {
  counts.total += 1;
  switch (stage) {
    case Stage::kWaiting:
    case Stage::kRemoving:
      return;
    case Stage::kProgressing:
    case Stage::kProving:
      counts.progressing += 1;
      return;
    case Stage::kSucceeded:
      counts.succeeded += 1;
      return;
    case Stage::kFailed:
      counts.failed += 1;
      return;
    case Stage::kTimedOut:
      counts.timed_out += 1;
      return;
  }
}

Target TargetOf(Stage stage, const std::string& cluster,
                const std::map<std::string, ClusterWork>& works) {
  if (stage == Stage::kWaiting) return Target::kUnchanged;
  auto work = works.find(cluster);
  return work != works.end() && work->second.deleting ? Target::kRemoved : Target::kNewest;
}

ClusterFailure FailureOf(const std::string& cluster, Stage stage,
                         const std::map<std::string, ClusterWork>& works) {
  ClusterFailure failure{.cluster = cluster,
                         .reason = stage == Stage::kFailed ? "Failed" : "TimedOut"};
  const ClusterWork& work = works.at(cluster);
  failure.message = kube::CutUtf8(work.message, kMaxFailureMessage);
  if (work.deleting) {
    failure.message = "the cluster has not removed the objects of before in time";
  } else if (failure.message.empty() && work.phase != WorkPhase::kFailed) {
    failure.message = "the cluster has not reported success in time";
  }
  return failure;
}

}  // namespace

RolloutPlan PlanRollout(std::span<const PlacementRollout> placements,
                        const std::map<std::string, ClusterWork>& works, std::string_view newest,
                        WallTime now) {
  RolloutPlan plan{.newest = std::string(newest)};
  std::map<std::string, ClusterFailure> failures;
  for (const PlacementRollout& placement : placements) {
    plan.ignored += placement.ignored;
    if (!placement.decided) {
      plan.undecided.push_back(placement.name);
      continue;
    }
    PlacementPlanner planner(placement, TakeGroups(placement, plan), works, newest, now);
    planner.Plan();
    for (const auto& [cluster, progress] : planner.progress()) {
      plan.targets[cluster] = TargetOf(progress.stage, cluster, works);
      Count(progress.stage, plan.counts);
      if (progress.stage == Stage::kSucceeded) plan.succeeded.push_back(cluster);
      if (IsFailure(progress.stage))
        failures.emplace(cluster, FailureOf(cluster, progress.stage, works));
      if (progress.until && (!plan.look_again || *progress.until < *plan.look_again))
        plan.look_again = progress.until;
    }
    if (!planner.stopped().empty()) plan.stopped.push_back(planner.stopped());
  }
  // The clusters that no Placement chooses any more
  for (const auto& [cluster, work] : works) {
    if (work.unwritten) continue;  // there is nothing to remove
    bool gone = work.deleting || plan.undecided.empty();
    auto [entry, left] =
        plan.targets.emplace(cluster, gone ? Target::kRemoved : Target::kUnchanged);
    plan.counts.removing += left && gone;
  }
  for (auto& [cluster, failure] : failures) {
    if (plan.failures.size() == kMaxReportedFailures) break;
    plan.failures.push_back(std::move(failure));
  }
  return plan;
}

}  // namespace fleet
