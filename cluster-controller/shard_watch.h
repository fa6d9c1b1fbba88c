// SPDX-License-Identifier: Apache-2.0
// ShardWatch: observes the Deployments and Leases of shards, and decides when the cluster
// controller takes over a pod that waits for its shard (I3).
//
// A shard works while its Deployment has an available replica and its Lease is renewed, which the
// shard does every two seconds while pods wait and seldom otherwise. Renewals are timed when they
// are observed, as the times in a Lease depend on the clock of a node. The pods of a shard that was
// never observed working wait for shardTakeoverAfter from their first observation. Both objects are
// in the tenant's namespace: whatever their contents, no pod waits longer than kMaxWaitFactor times
// shardTakeoverAfter. Thread: the controller's.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/types/apps.pb.h"
#include "kube/types/coordination.pb.h"

namespace cluster_controller {

// The options of informers for the shards' objects. They keep only the fields that are used here.
kube::InformerOptions<kube::coordination::Lease> ShardLeases();
kube::InformerOptions<kube::apps::Deployment> ShardDeployments();

class ShardWatch {
 public:
  static constexpr int kMaxWaitFactor = 3;

  // `clock` outlives it.
  explicit ShardWatch(kube::Clock& clock) : clock_(clock) {}

  // To be called when a term of leadership starts, before its informers deliver all objects again.
  // No pod is taken over in the first seconds of a term.
  void BeginTerm();
  // To be called with every event of the shards' Leases and Deployments.
  void OnLease(kube::EventType type, const kube::coordination::Lease& lease);
  void OnDeployment(kube::EventType type, const kube::apps::Deployment& deployment);

  // How long a pod of `ns`, first observed at `first_seen`, must still wait for its shard; zero:
  // take it over now. At most `takeover_after`, so that a caller that checks again after the
  // returned time takes over in time.
  kube::Duration WaitLeft(const std::string& ns, kube::TimePoint first_seen,
                          std::chrono::milliseconds takeover_after) const;

 private:
  struct Shard {
    size_t renewal = 0;  // hash of holder and renew time: differs after a renewal only
    kube::TimePoint renewed = kube::TimePoint::min();
    bool available = false;
    kube::TimePoint last_available = kube::TimePoint::min();  // unless `available`
  };

  kube::Clock& clock_;
  kube::TimePoint term_began_ = kube::TimePoint::min();
  std::unordered_map<std::string, Shard> shards_;  // by namespace
};

}  // namespace cluster_controller
