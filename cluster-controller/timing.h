// SPDX-License-Identifier: Apache-2.0
// Timing: how often the cluster controller inspects the images of a pod, and when it reads its
// configuration. What a user can change is in the API: spec.inspectionRetryPeriod of the
// ClusterPodPlacementConfig.
#pragma once

#include <array>
#include <chrono>

namespace cluster_controller {

// The attempts for one pod: pod_reconciler.cc.

// After this many failed attempts a pod is released without the result (I3).
inline constexpr int kMaxAttempts = 5;
// The backoff after each failed attempt, as parts of spec.inspectionRetryPeriod: short at first,
// for a registry that fails once, and long enough at the end to outlast a short outage.
inline constexpr std::array<int, kMaxAttempts - 1> kBackoffParts = {2, 6, 18, 36};
// The longest backoff for a pod that failed under another leader, as the time of that attempt is
// unknown. It is short, or no attempt would be made if every term were shorter than the backoff.
inline constexpr std::chrono::milliseconds kMaxNewLeaderBackoff{5'000};
// A pod keeps the cluster gate for those of other controllers until this time after its creation.
// Without a limit, it would wait for ever for a controller that waits for the last gate as well
// (I3). A queue of jobs may take days, and beyond the limit a pod misses tolerations, so it is
// long.
inline constexpr std::chrono::hours kMaxAwaitingOtherGates{7 * 24};
// A pod that waits for results is reconciled after this time even if no result wakes it (I3).
inline constexpr std::chrono::milliseconds kResultOverdue{120'000};
// Pods that ask for a result this long after it came get it without another inspection
// (inspection_queue.h).
inline constexpr std::chrono::milliseconds kSharedResultLifetime{1'000};

// Configuration that is polled: leader.cc.

inline constexpr std::chrono::seconds kNodeFilesInterval{10};
inline constexpr std::chrono::seconds kOpenShiftInterval{60};

}  // namespace cluster_controller
