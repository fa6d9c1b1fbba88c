// SPDX-License-Identifier: Apache-2.0
// How far one cluster is with the newest objects, from what is stored in its work object.
#pragma once

#include <optional>
#include <string_view>

#include "fleet/api/rollout_strategy.h"
#include "fleet/rollout/plan.h"
#include "kube/base/clock.h"

namespace fleet {

enum class Stage {
  kWaiting,      // it does not have the newest objects
  kRemoving,     // its work object is being deleted; the next one comes after that
  kProgressing,  // it has them, and has not succeeded yet
  kProving,      // it succeeded, for less than minSuccessTime
  kSucceeded,
  kFailed,  // before progressDeadline
  // After progressDeadline: progressing or failed; succeeded since then, for less than
  // minSuccessTime; or still being deleted.
  kTimedOut,
};

struct Progress {
  Stage stage = Stage::kWaiting;
  // Only for kWaiting: the cluster has older objects, has not succeeded with them, and has not
  // timed out.
  bool older_unfinished = false;
  // When time alone changes the above.
  std::optional<kube::WallTime> until;
};

// `work` is null if the cluster has no work object.
Progress ProgressOf(const ClusterWork* work, std::string_view newest,
                    const RolloutStrategy& strategy, kube::WallTime now);

inline bool IsFailure(Stage stage) { return stage == Stage::kFailed || stage == Stage::kTimedOut; }
// Counts among maxConcurrency.
inline bool InProgress(Stage stage) {
  return stage == Stage::kProgressing || stage == Stage::kProving || stage == Stage::kFailed;
}

}  // namespace fleet
