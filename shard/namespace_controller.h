// SPDX-License-Identifier: Apache-2.0
// NamespaceController: connects the caches, the reconciler and the queue of one namespace's pods.
//
// Every replica watches and reconciles. The leader takes a pod at once; the others after 20 s, if
// the pod is still gated. The Lease is only a hint which replica works at once, because others in
// the namespace can write it too.
//
// Thread: the client's.
#pragma once

#include <memory>
#include <string>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/large_pods.h"
#include "kube/controller/leadership.h"
#include "kube/controller/rights.h"
#include "kube/metrics/metrics.h"
#include "kube/types/core.pb.h"
#include "rules/asker.h"
#include "shard/metrics.h"
#include "shard/pod_reconciler.h"
#include "watches/fresh_configs.h"
#include "writes/pod_events.h"

namespace shard {

class NamespaceController {
 public:
  // All arguments outlive this.
  NamespaceController(kube::Client& client, kube::Clock& clock, kube::Metrics& metrics,
                      const std::string& ns);

  // Starts the watches and the events in `tasks`, and the controller in `workers`.
  void Start(kube::TaskGroup& tasks, kube::TaskGroup& workers);

  // An error if this replica could not do the work of a leader.
  kube::Result<void> Able() const;

  // True while pods are gated: the cluster controller expects frequent renewals of the Lease.
  bool Busy() const { return pods_.size() > 0; }

  // From now on this replica leads, or does not.
  void SetLeading(bool leading);

  // The work of a term of leadership.
  std::unique_ptr<kube::Term> NewTerm();

 private:
  kube::Clock& clock_;
  ShardMetrics metrics_;
  kube::ControllerMetrics controller_metrics_;
  kube::EventMetrics event_metrics_;
  kube::Informer<kube::core::Pod> pods_;
  watches::FreshConfigs configs_;
  rules::Asker rules_;
  writes::PodEvents pod_events_;
  kube::EventRecorder events_;
  kube::LargePods large_pods_;
  kube::Rights rights_;
  PodReconciler reconciler_;
  kube::Controller controller_;
  bool leading_ = false;
};

}  // namespace shard
