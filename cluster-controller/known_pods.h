// SPDX-License-Identifier: Apache-2.0
// KnownPods: the state of each gated pod that is not stored in the pod, from its first observation
// to its release. It lives as long as the process: the end of a term of leadership must not restart
// a pod's timers. Thread: the controller's.
//
// It also limits how many pods keep the cluster gate because they have gates of other controllers:
// each stays in the cache of gated pods, for as long as its queue is long.
#pragma once

#include <unordered_map>
#include <utility>

#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/queue/fair_share.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"

namespace cluster_controller {

struct KnownPod {
  size_t uid_hash = 0;
  kube::TimePoint first_seen;
  // Since when its age counts: `first_seen`, or the end of its wait for other gates.
  kube::TimePoint counted_since;
  // After a failed inspection: no attempt before this time.
  kube::TimePoint next_attempt;
  // When processing started, which ends with the write of the pod; the epoch: it has not started.
  kube::TimePoint processing_since;
  // Failed inspections. They are counted on the pod as well, but its update may fail.
  int attempts = 0;
  // Consecutive writes that failed with a conflict.
  int conflicts = 0;
  // Keeps the cluster gate for the gates of other controllers, which delay it, not this one.
  bool awaits_other_gates = false;
  // All that can be set before its last gate was written.
  bool decided = false;

  // In this term: the API server refused the pod with Release::additions; the images are
  // prefetched; the pod was released, and is still in the cache.
  bool additions_refused = false;
  bool prefetching = false;
  bool released = false;
};

// Pods that await the gates of other controllers. A namespace that has none may always have one.
inline constexpr kube::FairShareOptions kMaxAwaiting{
    .per_namespace = 1000, .total = 5000, .first_always_enters = true};

class KnownPods {
 public:
  // `clock` outlives it.
  explicit KnownPods(kube::Clock& clock, kube::FairShareOptions awaiting = kMaxAwaiting)
      : clock_(clock), awaiting_(awaiting) {}

  // The pod's state, and whether it was added by this call. A pod with the name of a known one, but
  // another UID, is added.
  std::pair<KnownPod&, bool> Add(const kube::core::Pod& pod);
  // nullptr if the pod is not known.
  KnownPod* Find(const kube::ObjectKey& key);
  void Forget(const kube::ObjectKey& key);

  // The pod awaits the gates of other controllers from now on. False if too many do, or it is not
  // known: it must not.
  bool AwaitOtherGates(const kube::ObjectKey& key);
  // It does not, or no longer: its age starts again.
  void EndAwaiting(const kube::ObjectKey& key);

  // To be called when a term of leadership starts: drops the state of the last term.
  void BeginTerm();
  // Forgets the pods that are not in `pods`, which must have synced.
  void KeepOnly(const kube::PodReader& pods);

  size_t size() const { return pods_.size(); }
  size_t awaiting() const { return awaiting_.taken(); }
  // How long ago the pod that has been gated for longest was observed first, of those that do not
  // await the gates of other controllers; zero without one.
  kube::Duration OldestAge() const;

 private:
  kube::Clock& clock_;
  kube::FairShare awaiting_;
  std::unordered_map<kube::ObjectKey, KnownPod> pods_;
};

}  // namespace cluster_controller
