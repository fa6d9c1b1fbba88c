// SPDX-License-Identifier: Apache-2.0
// Membership: the part of a leader's term that owns the membership of the fleet, for a hub without
// OCM's registration controller: what is watched, and which event enqueues what.
//
// It has watches of its own for ManagedClusters, sets and bindings, besides those of the
// FleetStore, which keeps what placing reads and nothing that is needed for a write. For 5,000
// clusters they cost one list at the start, about 1.5 KB of memory a cluster, and each later change
// once more. Thread: the client's.
#pragma once

#include <string>

#include "fleet/standalone/membership/access_watch.h"
#include "fleet/standalone/membership/cluster_access.h"
#include "fleet/standalone/membership/cluster_index.h"
#include "fleet/standalone/membership/cluster_reconciler.h"
#include "fleet/standalone/membership/set_reconciler.h"
#include "fleet/standalone/membership/signs_of_life.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/types/coordination.pb.h"

namespace fleet {

inline constexpr char kMembershipController[] = "membership";
inline constexpr char kClusterSetController[] = "cluster-sets";

struct MembershipOptions {
  // No cluster may have this name.
  std::string hub_namespace;
  // ManagedClusters that are written at a time.
  int workers = 4;
  // Both may be null, and outlive the Membership.
  kube::ControllerObserver* clusters = nullptr;
  kube::ControllerObserver* sets = nullptr;
};

class Membership {
 public:
  // How long changes of clusters are collected before the sets are counted again.
  static constexpr std::chrono::seconds kRecount{10};
  // How often it is checked that the Leases can be seen.
  static constexpr std::chrono::seconds kLookAtLeases{5};

  // `client` and `clock` outlive this.
  Membership(kube::Client& client, kube::Clock& clock, const MembershipOptions& options);

  // The tasks end before this is destroyed.
  void Start(kube::TaskGroup& tasks);

  ClusterIndex::Counts CountAvailable() const { return index_.CountAvailable(); }

 private:
  using Objects = kube::Informer<kube::Unstructured>;

  void FollowClusters();
  void FollowSets();
  boost::asio::awaitable<void> RunControllers(kube::TaskGroup& tasks);
  boost::asio::awaitable<void> LookAtLeases();
  kube::Async<> WaitForSync();

  kube::Clock& clock_;

  // What is known.
  ClusterIndex index_;
  SignsOfLife signs_;
  Objects clusters_;
  Objects sets_;
  Objects bindings_;
  Objects namespaces_;
  kube::Informer<kube::coordination::Lease> leases_;
  AccessWatch stored_access_;

  // What is done.
  ClusterAccess access_;
  ClusterReconciler cluster_reconciler_;
  SetReconciler set_reconciler_;
  kube::Controller cluster_controller_;
  kube::Controller set_controller_;
};

}  // namespace fleet
