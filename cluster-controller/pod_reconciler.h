// SPDX-License-Identifier: Apache-2.0
// PodReconciler takes a gated pod from its first sight to the one write that drops its gates.
//
//   both gates          the images are inspected ahead of time; nothing is written (I1)
//   local gate gone     requirement, preferences, labels and the gate in one write (I2)
//   local gate alone    the shard's; the images are of no interest
//   shard silent        after takeoverAfter its work is done here too, both gates in one write (I3)
//   images unreadable   five tries over inspectionRetryPeriod, told on the pod; then the fallback
//   (I3), and at once when
//                       the ClusterPodPlacementConfig is being deleted
//   write refused       the gates go without what was decided (I3)
//   not ours to place   the gates go at once, and nothing is set
#pragma once

#include <chrono>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/shard_watch.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/event_limiter.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "placement/release.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {

// What the reconciler works with; all outlive it.
struct PodReconcilerParts {
  // The operator's, whose pods are not ours to place.
  std::string operator_namespace;
  kube::Client& client;
  kube::Clock& clock;
  kube::TaskGroup& tasks;
  kube::EventRecorder& events;
  watches::FreshConfigs& configs;
  PodInspector& inspector;
  ShardWatch& shards;
  NamespaceSelection& namespaces;
  KnownPods& known;
  ControllerMetrics& metrics;
  // Pods with one of the gates, complete but for status and managedFields, which a PUT need not
  // have.
  const kube::PodReader& pods;
  // The ClusterPodPlacementConfig, as long as there is one.
  const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs;
};

class PodReconciler final : public kube::Reconciler {
 public:
  explicit PodReconciler(PodReconcilerParts parts)
      : parts_(std::move(parts)), limiter_(parts_.clock) {}

  // An Error is the API server's; a failed inspection is none, it comes back as a later time.
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

  // To be called once all pods are there: forgets those that went while nobody watched.
  void ForgetGone();

 private:
  // With every default if there is none.
  api::ClusterPodPlacementConfig ClusterConfig() const;
  KnownPod& Remember(const kube::core::Pod& pod);
  // The number of pods that wait, for the metric.
  void ShowWaiting();
  // Whether the cluster's configuration excludes the namespace.
  kube::Async<bool> IsExcluded(std::string ns);
  void Prefetch(const kube::core::Pod& pod);
  kube::asio::awaitable<void> RunPrefetch(PodInspector::Images images);

  // Decides and writes, once the images are known and it is time for the pod.
  kube::Async<kube::Outcome> Place(kube::core::Pod pod, bool take_over);

  // Counts the `tries`-th failure on the pod and says when to try again within `retry_period`.
  kube::Async<kube::Outcome> RecordFailure(kube::core::Pod pod, kube::Error error, int tries,
                                           std::chrono::milliseconds retry_period);
  // The write that was decided. A pod that the API server refuses with it goes on without it.
  kube::Async<kube::Outcome> Write(kube::core::Pod pod, placement::Release release);
  // The pass over the pod ends that Place() began.
  void EndPass(const kube::ObjectKey& key);
  void TellFailedRemoval(const kube::core::Pod& pod, const kube::Error& error);

  PodReconcilerParts parts_;
  kube::EventLimiter limiter_;
};

}  // namespace cluster_controller
