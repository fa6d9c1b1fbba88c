// SPDX-License-Identifier: Apache-2.0
// PodReconciler takes a gated pod from its first sight to the one write that drops the cluster gate.
//
//   both gates          the images are inspected ahead of time; nothing is written (I1)
//   local gate gone     requirement, preferences, labels and the gate in one write (I2)
//   shard silent        after takeoverAfter its work is done here too, both gates in one write (I3)
//   images unreadable   five tries over inspectionRetryPeriod, told on the pod; then the fallback (I3), and at once when
//                       the ClusterPodPlacementConfig is being deleted
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/shard_watch.h"
#include "configs/fresh_configs.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/core.pb.h"
#include "placement/release.h"

namespace cluster_controller {

// What the reconciler works with; all outlive it.
struct PodReconcilerParts {
  kube::Client& client;
  kube::Clock& clock;
  kube::TaskGroup& tasks;
  kube::EventRecorder& events;
  configs::FreshConfigs& configs;
  PodInspector& inspector;
  ShardWatch& shards;
  ControllerMetrics& metrics;
  // Pods with the cluster gate, complete but for status and managedFields, which a PUT need not have.
  const kube::PodReader& pods;
  // The ClusterPodPlacementConfig, as long as there is one.
  const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs;
};

class PodReconciler final : public kube::Reconciler {
 public:
  explicit PodReconciler(PodReconcilerParts parts) : parts_(std::move(parts)) {}

  // An Error is the API server's; a failed inspection is none, it comes back as a later time.
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

  // Pods that have the cluster gate, as far as seen.
  size_t waiting() const { return waiting_.size(); }

 private:
  // What is known of a pod from its first sight until it is released.
  struct Waiting {
    std::string uid;
    kube::TimePoint first_seen;
    kube::TimePoint next_try;  // after a failed inspection
    bool prefetching = false;
    bool released = false;  // written; the informer will drop the pod when it sees that
  };

  // With every default if there is none.
  api::ClusterPodPlacementConfig ClusterConfig() const;
  Waiting& Remember(const kube::ObjectKey& key, const kube::core::Pod& pod);
  void Prefetch(const kube::core::Pod& pod, Waiting& waiting);
  kube::asio::awaitable<void> RunPrefetch(PodInspector::Images images);

  // Counts the failure on the pod and says when to try again within `retry_period`.
  kube::Async<kube::Outcome> RecordFailure(kube::ObjectKey key, kube::core::Pod pod, kube::Error error,
                                           std::chrono::milliseconds retry_period);
  // The write that was decided. A pod that the API server refuses with it goes on without it.
  kube::Async<kube::Outcome> Write(kube::ObjectKey key, kube::core::Pod pod, placement::Release release);

  PodReconcilerParts parts_;
  std::unordered_map<kube::ObjectKey, Waiting> waiting_;
};

}  // namespace cluster_controller
