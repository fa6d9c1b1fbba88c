// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/progress.h"

#include <algorithm>

#include "fleet/api/reading.h"
#include "kube/base/utf8.h"

namespace fleet {
namespace {

using kube::WallTime;

// The agent's clock may be wrong, and so may be the hub's of before.
WallTime WithinKnown(WallTime time, const ClusterWork& work, WallTime now) {
  return std::min(std::max(time, work.given_at), now);
}

// The progress of a work object that is not being deleted, whatever its hash is.
Progress WithoutHash(const ClusterWork& work, const RolloutStrategy& strategy, WallTime now) {
  WallTime since = WithinKnown(work.since.value_or(work.given_at), work, now);
  WallTime unproven = WithinKnown(work.unproven_since.value_or(since), work, now);
  std::optional<WallTime> deadline;
  if (strategy.progress_deadline) deadline = unproven + *strategy.progress_deadline;
  if (work.phase == WorkPhase::kSucceeded) {
    WallTime proven = since + strategy.min_success_time;
    if (now >= proven) return {.stage = Stage::kSucceeded};
    bool late = deadline && since >= *deadline;
    return {.stage = late ? Stage::kTimedOut : Stage::kProving, .until = proven};
  }
  Stage stage = work.phase == WorkPhase::kFailed ? Stage::kFailed : Stage::kProgressing;
  if (!deadline) return {.stage = stage};
  if (now >= *deadline) return {.stage = Stage::kTimedOut};
  return {.stage = stage, .until = deadline};
}

// How long the agent may take to remove the objects is the same as to apply them.
Progress Removing(const ClusterWork& work, const RolloutStrategy& strategy, WallTime now) {
  if (!strategy.progress_deadline || !work.deleting_since) return {.stage = Stage::kRemoving};
  WallTime deadline = *work.deleting_since + *strategy.progress_deadline;
  if (now >= deadline) return {.stage = Stage::kTimedOut};
  return {.stage = Stage::kRemoving, .until = deadline};
}

}  // namespace

Progress ProgressOf(const ClusterWork* work, std::string_view newest,
                    const RolloutStrategy& strategy, WallTime now) {
  if (work == nullptr) return {};
  if (work->deleting) return Removing(*work, strategy, now);
  Progress progress = WithoutHash(*work, strategy, now);
  if (work->hash == newest) return progress;
  bool unfinished = progress.stage == Stage::kProgressing || progress.stage == Stage::kFailed;
  return {.older_unfinished = unfinished,
          .until = unfinished ? progress.until : std::optional<WallTime>()};
}

ClusterWork WorkOf(const PodPlacementWork& work) {
  ClusterWork cluster{.hash = work.spec.hash,
                      .given_at = work.spec.given_at,
                      .phase = work.Phase(),
                      .deleting = work.deleting};
  if (const api::Condition* succeeded = work.Succeeded()) {
    kube::Result<WallTime> since = kube::ParseTime(succeeded->last_transition_time);
    if (since) cluster.since = *since;
    // Kept for each cluster of each rollout, and a condition's may have 32 KiB.
    cluster.message = kube::CutUtf8(succeeded->message, kMaxFailureMessage);
  }
  return cluster;
}

void SetBack(ClusterWork& work, WallTime now) {
  work.given_at = std::min(work.given_at, now);
  for (auto* time : {&work.since, &work.unproven_since, &work.deleting_since}) {
    if (*time) *time = std::min(**time, now);
  }
}

ClusterWork Follow(const ClusterWork* before, ClusterWork work, WallTime now) {
  const bool known = before != nullptr && before->hash == work.hash;
  const bool succeeded = work.phase == WorkPhase::kSucceeded;
  if (!known) {
    SetBack(work, now);
    work.since = WithinKnown(work.since.value_or(work.given_at), work, now);
    work.unproven_since = work.since;
  } else {
    work.given_at = before->given_at;
    work.unproven_since = before->unproven_since;
    work.deadline_moved = before->deadline_moved;
    if (succeeded == (before->phase == WorkPhase::kSucceeded)) {
      work.since = before->since;
      work.counted = before->counted;
    } else {
      work.since = now;
      if (before->counted && !before->deadline_moved) {
        work.unproven_since = now;
        work.deadline_moved = true;
      }
    }
  }
  if (work.deleting) {
    bool deleted_before = before != nullptr && before->deleting_since;
    work.deleting_since = deleted_before ? before->deleting_since : now;
  }
  return work;
}

}  // namespace fleet
