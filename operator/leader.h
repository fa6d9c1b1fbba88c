// SPDX-License-Identifier: Apache-2.0
// Leader: what the one operator that holds the Lease does. Watches, reconcilers, and which event
// wakes which of them.
//
// An event in a namespace wakes that namespace's reconcile alone. All of them are woken at the
// start, and when a change of the ClusterPodPlacementConfig concerns them (it came, it goes, its
// log verbosity, its namespaceSelector).
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/leadership.h"
#include "operator/announcements/announcement_cleaner.h"
#include "operator/certificates/own_certificate.h"
#include "operator/cluster_reconciler.h"
#include "operator/config_store.h"
#include "operator/namespaces.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/pacer.h"
#include "operator/shard_reconciler.h"
#include "operator/webhooks/own_webhooks_reconciler.h"

namespace operator_ {

// Namespaces at a time.
inline constexpr int kShardWorkers = 4;

struct LeaderOptions {
  OperandOptions operands;
  ShardTiming shard_timing;
  ClusterTiming cluster_timing;
  // Changes of operands.
  PacerOptions changes;
  // Told what the controllers do, for metrics; may be null.
  kube::ControllerObserver* shard_observer = nullptr;
  kube::ControllerObserver* cluster_observer = nullptr;
};

class Leader final : public kube::Term {
 public:
  // `client`, `clock` and `certificate` outlive this.
  Leader(kube::Client& client, kube::Clock& clock, LeaderOptions options,
         const OwnCertificate& certificate);

  // Term. Ends when everything runs; errors of the API server are logged, and the call is tried
  // again.
  boost::asio::awaitable<void> Run(kube::TaskGroup& tasks) override;

 private:
  void OnCluster();
  void EnqueueAllShards();
  // The namespaces of which an authority is kept: something of ours may be left there.
  kube::Async<> EnqueueAuthorities();

  kube::Client& client_;
  kube::Clock& clock_;
  LeaderOptions options_;
  ConfigStore configs_;
  Namespaces namespaces_;
  OperandStore store_;
  Pacer pacer_;
  kube::EventRecorder events_;
  ShardReconciler shard_reconciler_;
  ClusterReconciler cluster_reconciler_;
  OwnWebhooksReconciler own_webhooks_reconciler_;
  AnnouncementCleaner announcement_cleaner_;
  kube::Controller shards_;
  kube::Controller cluster_;
  kube::Controller own_webhooks_;
  kube::Controller announcements_;
  // What the shards were last told of the ClusterPodPlacementConfig.
  std::string told_;
};

}  // namespace operator_
