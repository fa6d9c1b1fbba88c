// SPDX-License-Identifier: Apache-2.0
// ShardWatch: which shards are alive, told by their Leases, and when a pod that waits for one may be taken over (I3).
//
// Only local observation counts, never the times in a Lease: a node's clock may be off. A shard is silent from the
// moment that its Lease was last seen changing; one without a Lease has been silent for ever, so that its pods wait for
// `takeover_after` from when they were first seen.
// Thread: the controller's.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/types/coordination.pb.h"

namespace cluster_controller {

class ShardWatch {
 public:
  ShardWatch(kube::Clock& clock, std::chrono::milliseconds takeover_after)
      : clock_(clock), takeover_after_(takeover_after) {}

  // To be called with every event of the shards' Leases.
  void OnLease(kube::EventType type, const kube::coordination::Lease& lease);

  // How long a pod of `ns` that was first seen at `first_seen` must still wait for its shard; zero: take it over now.
  // Never longer than `takeover_after`, so that a caller who asks again after it never misses the moment.
  kube::Duration WaitLeft(const std::string& ns, kube::TimePoint first_seen) const;

  void set_takeover_after(std::chrono::milliseconds takeover_after) { takeover_after_ = takeover_after; }

 private:
  struct Sign {
    std::string renewed;  // holder and renew time, to tell a renewal from any other write
    kube::TimePoint seen;
  };

  kube::Clock& clock_;
  std::chrono::milliseconds takeover_after_;
  std::unordered_map<std::string, Sign> last_signs_;  // by namespace
};

}  // namespace cluster_controller
