// SPDX-License-Identifier: Apache-2.0
// PlanRollout() decides which clusters have the newest objects of a FleetPodPlacement now. Pure:
// everything is in the arguments, so that a restarted hub makes the same decisions.
//
// For each Placement, in its own way:
//   All                  every cluster at once; nothing stops it.
//   Progressive          the mandatory decision groups, one after another; then the other clusters
//                        by name, at most maxConcurrency at a time.
//   ProgressivePerGroup  the mandatory decision groups, then the others by index; each whole.
//
// A mandatory group is done when all its clusters have succeeded. Another group is done when none
// of its clusters is progressing any more and at most maxFailures of them failed or timed out; with
// more, no cluster gets the objects any more. Progressive counts failures in all clusters of the
// Placement instead. As in OCM, percentages are of these clusters (maxConcurrency: of those that
// are in no mandatory group), and a number above theirs means the default.
//
// A cluster that several Placements choose belongs to the first. One that none chooses any more is
// removed at once.
//
// A failed cluster may recover until progressDeadline: until then Progressive counts it among the
// maxConcurrency. So does a cluster that has not succeeded with older objects: it gets the new ones
// before others, so that no more clusters are in the middle of a change than the user allows.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/api/rollout_strategy.h"
#include "kube/base/clock.h"

namespace fleet {

// A page of decisions, or all pages of a group.
struct DecidedGroup {
  int64_t index = 0;
  std::string name;  // "" of the clusters that are in no named group
  std::vector<std::string> clusters;
};

// One entry of `spec.placements`, and what its Placement chose.
struct PlacementRollout {
  std::string name;
  RolloutStrategy strategy;
  // False: there is no such Placement, or it has no PlacementDecision yet. No cluster is removed
  // then: the Placement may choose it.
  bool decided = true;
  std::vector<DecidedGroup> groups;
  // Decisions about clusters that the namespace may not select.
  int64_t ignored = 0;
};

// The work object of a cluster.
struct ClusterWork {
  std::string hash;
  kube::WallTime given_at{};
  // About `hash`.
  WorkPhase phase = WorkPhase::kProgressing;
  // When the agent began to report success, or ceased to. From WorkOf(): by the clock of the agent,
  // absent until it answers. From Follow(): by the hub's clock. A time outside given_at and now
  // counts as the nearer of both.
  std::optional<kube::WallTime> since;
  // From when progressDeadline counts; absent: from `since`. It moves to the end of a success that
  // a plan has counted, but once only: an agent that reports now this and now that would never time
  // out. When the rollout is complete, and so waits for no cluster, it may move again.
  std::optional<kube::WallTime> unproven_since;
  bool counted = false;         // a plan has counted the success that lasts now
  bool deadline_moved = false;  // unproven_since has moved since the rollout was complete
  std::string message;
  bool deleting = false;
  std::optional<kube::WallTime> deleting_since;
  // The hub could not store `hash` here.
  bool unwritten = false;
};

ClusterWork WorkOf(const PodPlacementWork& work);

// `work`, as it was just read, with times by the hub's clock: what the hub sees first at `now`
// begins then, and what it has seen in `before` stays. Without `before`, or if that had another
// hash, the agent's times count where they are between given_at and now: a hub that starts has no
// better ones.
ClusterWork Follow(const ClusterWork* before, ClusterWork work, kube::WallTime now);

// Times after `now`, by a clock that was ahead, become `now`: until it is that late, neither a
// deadline nor minSuccessTime would pass.
void SetBack(ClusterWork& work, kube::WallTime now);

enum class Target {
  kNewest,     // a work object with the newest objects; the cluster may have it already
  kUnchanged,  // what the cluster has, perhaps nothing
  kRemoved,    // no work object
};

struct RolloutPlan {
  std::string newest;  // the hash that it is about
  // Every chosen cluster, and every cluster that has a work object.
  std::map<std::string, Target> targets;
  RolloutCounts counts;
  std::vector<std::string> succeeded;  // the clusters that `counts` has as succeeded
  // The first kMaxReportedFailures by name.
  std::vector<ClusterFailure> failures;
  // For each Placement where clusters wait because of too many failures: "Placement canary: 3
  // clusters failed or timed out, and at most 2 may"
  std::vector<std::string> stopped;
  std::vector<std::string> undecided;  // the names of the Placements without decisions
  int64_t ignored = 0;                 // as PlacementRollout::ignored, of all
  // Clusters whose turn it is, but for whose work objects there is no room
  // (RolloutStore::HasRoom()).
  int64_t without_room = 0;
  // When a deadline or minSuccessTime passes next. Absent: not before something changes.
  std::optional<kube::WallTime> look_again;

  // Every chosen cluster has succeeded, and no other has a work object.
  bool complete() const {
    return undecided.empty() && counts.succeeded == counts.total && counts.removing == 0;
  }
};

// `works` are the work objects of the FleetPodPlacement by cluster, `newest` is HashOf() its spec.
// Without `placements` (it is being deleted) every cluster is removed.
RolloutPlan PlanRollout(std::span<const PlacementRollout> placements,
                        const std::map<std::string, ClusterWork>& works, std::string_view newest,
                        kube::WallTime now);

}  // namespace fleet
