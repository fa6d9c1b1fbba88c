// SPDX-License-Identifier: Apache-2.0
// KnownPods: what is known of each gated pod from its first sight until it is released, and is not
// written on it. It lives as long as the process: a term of leadership that ends must not start a
// pod's waits anew. Thread: the controller's.
#pragma once

#include <unordered_map>
#include <utility>

#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"

namespace cluster_controller {

struct KnownPod {
  size_t uid_hash = 0;
  kube::TimePoint first_seen;
  // Not before; after a failed inspection.
  kube::TimePoint next_try;
  // When the pass under way began, which ends when the images are known and the pod is written;
  // none: the epoch.
  kube::TimePoint pass_began;
  // Inspections that failed, counted here as well as on the pod, which may refuse to be written.
  int tries = 0;
  // Writes in a row that found a newer pod.
  int conflicts = 0;

  // In this term: the images are being inspected ahead of time; the pod is written, and leaves the
  // cache when that is seen.
  bool prefetching = false;
  bool released = false;
};

class KnownPods {
 public:
  // `clock` outlives it.
  explicit KnownPods(kube::Clock& clock) : clock_(clock) {}

  // What is known of the pod, and whether it is new, which is the case too where another one with
  // its name was known.
  std::pair<KnownPod&, bool> Remember(const kube::core::Pod& pod);
  // Null if it is not known.
  KnownPod* Find(const kube::ObjectKey& key);
  void Forget(const kube::ObjectKey& key) { pods_.erase(key); }

  // A term of leadership begins: what the last one had under way is not under way any more.
  void BeginTerm();
  // Forgets the pods that `pods` does not have; to be called once it has synced.
  void KeepOnly(const kube::PodReader& pods);

  size_t size() const { return pods_.size(); }

 private:
  kube::Clock& clock_;
  std::unordered_map<kube::ObjectKey, KnownPod> pods_;
};

}  // namespace cluster_controller
