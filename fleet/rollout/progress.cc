// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/progress.h"

#include <algorithm>

#include "fleet/api/reading.h"

namespace fleet {
namespace {

using kube::WallTime;

// The progress of a work object that is not being deleted, whatever its hash is.
Progress WithoutHash(const ClusterWork& work, const RolloutStrategy& strategy, WallTime now) {
  WallTime since = work.since.value_or(work.given_at);
  // The agent's clock may be wrong, and so may be the hub's of before.
  since = std::min(std::max(since, work.given_at), now);
  if (work.phase == WorkPhase::kSucceeded) {
    WallTime proven = since + strategy.min_success_time;
    if (now < proven) return {.stage = Stage::kProving, .until = proven};
    return {.stage = Stage::kSucceeded};
  }
  Stage stage = work.phase == WorkPhase::kFailed ? Stage::kFailed : Stage::kProgressing;
  if (!strategy.progress_deadline) return {.stage = stage};
  WallTime deadline = since + *strategy.progress_deadline;
  if (now >= deadline) return {.stage = Stage::kTimedOut};
  return {.stage = stage, .until = deadline};
}

}  // namespace

Progress ProgressOf(const ClusterWork* work, std::string_view newest,
                    const RolloutStrategy& strategy, WallTime now) {
  if (work == nullptr) return {};
  if (work->deleting) return {.stage = Stage::kRemoving};
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
    cluster.message = succeeded->message;
  }
  return cluster;
}

}  // namespace fleet
