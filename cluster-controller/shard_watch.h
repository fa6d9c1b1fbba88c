// SPDX-License-Identifier: Apache-2.0
// ShardWatch: which shards work, told by their Deployments and Leases, and when a pod that waits
// for one may be taken over (I3).
//
// A shard works while its Deployment has an available replica and its Lease is renewed. Only local
// observation counts, never the times in a Lease: a node's clock may be off. What has not been seen
// working at all has never worked, so that its pods wait for `takeover_after` from when they were
// first seen. Both objects are in the tenant's namespace: whatever they say, and whatever the shard
// does, no pod waits longer than kLongestWait times `takeover_after`. Thread: the controller's.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/types/apps.pb.h"
#include "kube/types/coordination.pb.h"

namespace cluster_controller {

// What is to be watched, without what is not read here.
kube::InformerOptions<kube::coordination::Lease> ShardLeases();
kube::InformerOptions<kube::apps::Deployment> ShardDeployments();

class ShardWatch {
 public:
  static constexpr int kLongestWait = 3;

  ShardWatch(kube::Clock& clock, std::chrono::milliseconds takeover_after)
      : clock_(clock), takeover_after_(takeover_after) {}

  // A term of leadership begins, after which all objects are told again. Nothing is taken over in
  // its first seconds.
  void BeginTerm();
  // To be called with every event of the shards' Leases and Deployments.
  void OnLease(kube::EventType type, const kube::coordination::Lease& lease);
  void OnDeployment(kube::EventType type, const kube::apps::Deployment& deployment);

  // How long a pod of `ns` that was first seen at `first_seen` must still wait for its shard; zero:
  // take it over now. Never longer than `takeover_after`, so that a caller who asks again after it
  // never misses the moment.
  kube::Duration WaitLeft(const std::string& ns, kube::TimePoint first_seen) const;

  void set_takeover_after(std::chrono::milliseconds takeover_after) {
    takeover_after_ = takeover_after;
  }

 private:
  struct Shard {
    size_t renewal = 0;  // hash of holder and renew time, to tell a renewal from any other write
    kube::TimePoint renewed = kube::TimePoint::min();
    bool available = false;
    kube::TimePoint last_available = kube::TimePoint::min();  // where it is not now
  };

  kube::Clock& clock_;
  std::chrono::milliseconds takeover_after_;
  kube::TimePoint term_began_ = kube::TimePoint::min();
  std::unordered_map<std::string, Shard> shards_;  // by namespace
};

}  // namespace cluster_controller
