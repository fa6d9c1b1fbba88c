// SPDX-License-Identifier: Apache-2.0
// PodLedger: the pods of the run that exist: for how long each has been gated, and which are to be
// deleted. Pure.
//
// What a watch and the responses of calls say may come in any order: a pod that was seen without
// gates does not become gated again (gates of a stored pod can only be removed).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/types/resource.h"

namespace e2e {

class PodLedger {
 public:
  // `keep`: how long a pod stays after it was ungated.
  explicit PodLedger(kube::Duration keep) : keep_(keep) {}

  // The pod exists. `quiet`: the QuietClock's time.
  void OnPod(const kube::ObjectKey& pod, bool gated, kube::TimePoint now, kube::Duration quiet);
  void OnDeleted(const kube::ObjectKey& pod);

  // At most `most` pods that are due for deletion. A pod is returned once.
  std::vector<kube::ObjectKey> TakeDue(kube::TimePoint now, size_t most);
  // The deletion failed: the pod is due once more after a while.
  void Return(const kube::ObjectKey& pod, kube::TimePoint now);

  struct Gated {
    kube::ObjectKey pod;
    kube::Duration waited{};  // without faults
  };
  // The pod that has been gated for the longest time; nullopt if no pod is gated.
  std::optional<Gated> LongestGated(kube::Duration quiet) const;

  size_t size() const { return pods_.size(); }
  size_t gated() const { return gated_; }

 private:
  struct Pod {
    kube::Duration since{};  // when it was first seen, by the QuietClock
    bool gated = true;
  };

  kube::Duration keep_;
  std::map<kube::ObjectKey, Pod> pods_;
  size_t gated_ = 0;
  // When each is due, in this order.
  std::deque<std::pair<kube::TimePoint, kube::ObjectKey>> due_;
};

}  // namespace e2e
