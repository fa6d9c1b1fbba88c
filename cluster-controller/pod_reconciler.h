// SPDX-License-Identifier: Apache-2.0
// PodReconciler ungates pods: it releases each gated pod with one write.
//
//   both gates            prefetches the images; writes nothing (I1)
//   cluster gate only     sets requirement, preferences and labels and removes the gate (I2)
//   rules not evaluated   asks the API server, for pods that no shard has processed
//   local gate only       waits for the shard; needs no images
//   shard not working     after shardTakeoverAfter, does the shard's work too and removes both
//                         gates in one write (I3)
//   images not readable   five attempts over inspectionRetryPeriod, recorded on the pod; then the
//                         fallback (I3), or at once if the ClusterPodPlacementConfig is being
//                         deleted
//   write refused         removes the gates without tolerations and missed policies, if there are
//                         any, and else without the other changes (I3)
//   ignored pod           removes the gates at once, and sets nothing
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pod_additions.h"
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
#include "rules/asker.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {

// The reconciler's dependencies; all outlive it.
struct PodReconcilerParts {
  // Pods of this namespace are ignored.
  std::string operator_namespace;
  kube::Client& client;
  kube::Clock& clock;
  kube::TaskGroup& tasks;
  kube::EventRecorder& events;
  watches::FreshConfigs& configs;
  rules::Asker& rules;
  PodInspector& inspector;
  const PodAdditionsList& additions;
  ShardWatch& shards;
  NamespaceSelection& namespaces;
  KnownPods& known;
  PlacementMetrics& metrics;
  // Pods with one of the gates, complete except for status and managedFields, which a PUT may omit.
  const kube::PodReader& pods;
  // The ClusterPodPlacementConfig, if there is one.
  const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs;
};

class PodReconciler final : public kube::Reconciler {
 public:
  explicit PodReconciler(PodReconcilerParts parts)
      : parts_(std::move(parts)), limiter_(parts_.clock) {}

  // Errors: the API server's. A failed inspection is not an error, but an Outcome::After().
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

  // To be called when the pod left the cache and no reconcile of it runs: a reconcile has nothing
  // else to do then.
  void Forget(const kube::ObjectKey& key);
  // To be called once all pods have synced: forgets the pods that were deleted between the terms.
  void ForgetDeleted();

 private:
  using SharedConfig = std::shared_ptr<const api::ClusterPodPlacementConfig>;
  // With the default of every field if there is none. Copied once for each version of it.
  SharedConfig ClusterConfig();
  KnownPod& Observe(const kube::core::Pod& pod);
  void UpdateGatedMetric();
  // Whether the ClusterPodPlacementConfig excludes the namespace.
  kube::Async<bool> IsExcluded(std::string ns);
  void Prefetch(const kube::core::Pod& pod);
  kube::asio::awaitable<void> RunPrefetch(PodInspector::Images images);

  // Decides and writes, if the images are known and no backoff of the pod is pending.
  // `log`: as in Request; it outlives the call.
  kube::Async<kube::Outcome> Place(kube::core::Pod pod, bool take_over, const std::string& log);

  // Records the failed attempt with number `attempt` on the pod, and returns its backoff.
  kube::Async<kube::Outcome> RecordFailure(kube::core::Pod pod, kube::Error error, int attempt,
                                           std::chrono::milliseconds retry_period,
                                           const std::string& log);
  // Writes the pod. If the API server refuses it, the next pass makes no additions; without any,
  // removes only the gates.
  kube::Async<kube::Outcome> Write(kube::core::Pod pod, placement::Release release,
                                   const std::string& log);
  // Ends the processing that Place() started, for the metric.
  void EndProcessing(const kube::ObjectKey& key);
  void RecordFailedRemoval(const kube::core::Pod& pod, const kube::Error& error);

  PodReconcilerParts parts_;
  kube::EventLimiter limiter_;
  // As it was read last.
  SharedConfig cluster_config_ = std::make_shared<api::ClusterPodPlacementConfig>();
};

}  // namespace cluster_controller
