// SPDX-License-Identifier: Apache-2.0
// PodReconciler ungates pods: it releases each gated pod with one write.
//
//   ignored pod           removes the gates at once, and sets nothing
//   pod that opts out     the same, but with the additions of features, which it cannot opt out of
//   both gates            inspects the images meanwhile; writes nothing (I1)
//   local gate only       waits for the shard; needs no images
//   shard not working     after shardTakeoverAfter, does the shard's work too and removes both
//                         gates in one write (I3)
//   cluster gate only     sets requirement, preferences and labels and removes the gate (I2)
//   gates of others too   sets all but the tolerations, and keeps the cluster gate until it is the
//                         last one; then inspects the images again. Not while the
//                         ClusterPodPlacementConfig is being deleted, and within limits (I3)
//   rules not evaluated   asks the API server, for pods that no shard has processed
//   images not readable   five attempts over inspectionRetryPeriod, recorded on the pod; then the
//                         fallback (I3), or at once if the ClusterPodPlacementConfig is being
//                         deleted
//   write refused         writes it without additions, if there are any, and else only removes the
//                         gates (I3)
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/nodes/offered_architectures.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pod_additions.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/shard_watch.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "placement/release.h"
#include "rules/asker.h"
#include "watches/fresh_configs.h"
#include "writes/release_writer.h"

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
  OfferedArchitectures& offered;
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
      : parts_(std::move(parts)),
        writer_(parts_.client, parts_.clock, parts_.events, api::kClusterGate) {}

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
  void EndAwaiting(const kube::ObjectKey& key);
  // Whether the ClusterPodPlacementConfig excludes the namespace.
  kube::Async<bool> IsExcluded(std::string ns);
  // Removes the gates of a pod that opts out, or whose namespace is excluded.
  kube::Async<kube::Outcome> ReleaseOptedOut(kube::core::Pod pod, const std::string& log);
  void Prefetch(const kube::core::Pod& pod);
  kube::asio::awaitable<void> RunPrefetch(PodInspector::Images images);

  // Places a pod that need not wait for its shard (any more), in the steps below. `log`: as in
  // Request; it outlives the call.
  kube::Async<kube::Outcome> Place(kube::core::Pod pod, bool take_over, const std::string& log);

  // A pod in Place(), and what its steps have found.
  struct Placing;
  // The outcome of the pass, if it ends with this step; nullopt: the next step follows.
  using End = std::optional<kube::Result<kube::Outcome>>;

  // Decides whether the pod keeps the cluster gate for those of other controllers. Ends the pass if
  // there is nothing else to do meanwhile.
  End AwaitOtherGates(Placing& placing);
  // Ends the pass while a backoff of the pod is pending.
  End Begin(Placing& placing);
  // Makes the additions of features.
  End MakeAdditions(Placing& placing);
  // Gets the architectures of the images. While they are not known, the pod occupies no worker.
  kube::asio::awaitable<End> Inspect(Placing& placing);
  // Reads the configs of the namespace if they may decide something.
  kube::asio::awaitable<End> ReadConfigs(Placing& placing);
  // Asks which rules of the configs match.
  kube::asio::awaitable<End> AskRules(Placing& placing);
  // Makes the change that releases the pod.
  placement::Release Decide(Placing& placing);
  // Adds what MakeAdditions() did.
  static void AddAdditions(const Placing& placing, placement::Release& release);
  // Writes the pod. If the API server refuses it with additions, the next pass makes none. Then
  // checks whether nodes of what it requires are known.
  kube::Async<kube::Outcome> Write(kube::core::Pod pod, placement::Release release,
                                   const std::string& log);

  // Records the failed inspection on the pod, and returns its backoff.
  kube::Async<kube::Outcome> RecordFailedInspection(Placing& placing, kube::Error error);
  // Ends the processing that Begin() started, for the metric.
  void EndProcessing(const kube::ObjectKey& key);

  PodReconcilerParts parts_;
  writes::ReleaseWriter writer_;
  // As it was read last.
  SharedConfig cluster_config_ = std::make_shared<api::ClusterPodPlacementConfig>();
};

}  // namespace cluster_controller
