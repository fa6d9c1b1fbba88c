// SPDX-License-Identifier: Apache-2.0
// Leader: the work of the operator that holds the Lease: watches, reconcilers, and the events that
// enqueue their requests (routes.h).
//
// An event in a namespace enqueues that namespace alone. All namespaces are enqueued at the start,
// and when a change of the ClusterPodPlacementConfig concerns the shards (created, deleted, its log
// verbosity, its namespaceSelector, its gating), or what the API server supports for the gating.
#pragma once

#include <functional>
#include <list>
#include <memory>
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
#include "operator/feature.h"
#include "operator/gating/gating_policy_prober.h"
#include "operator/known_images.h"
#include "operator/namespaces.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/pacer.h"
#include "operator/probes/webhook_prober.h"
#include "operator/routes.h"
#include "operator/shard_reconciler.h"
#include "operator/status/operand_metrics.h"
#include "operator/upgrade_queue.h"
#include "operator/webhooks/own_webhooks_reconciler.h"

namespace operator_ {

// Namespaces that are reconciled at the same time.
inline constexpr int kShardWorkers = 4;

struct LeaderOptions {
  OperandOptions operands;
  ShardTiming shard_timing;
  ClusterTiming cluster_timing;
  // For changes of operands and namespaces.
  PacerOptions changes;
  // For changes of which namespaces' pods are gated.
  PacerOptions gating{.settle = std::chrono::milliseconds(50),
                      .burst = kGatingWrites.burst,
                      .period = kGatingWrites.period};
  // Which shards are upgraded when.
  UpgradeOptions upgrades;
  // How long the progress of an upgrade waits to be written into the status.
  std::chrono::milliseconds upgrade_report{5'000};
  // May be empty.
  NewKnownImages new_known_images;
  // Observes the shards' controller for metrics; may be null.
  kube::ControllerObserver* shard_observer = nullptr;
  kube::ControllerObserver* cluster_observer = nullptr;
  OperandMetrics* operand_metrics = nullptr;
};

class Leader final : public kube::Term {
 public:
  // All but `options` outlive this.
  Leader(kube::Client& client, kube::Clock& clock, LeaderOptions options,
         OwnCertificate& certificate, const Features& features);
  ~Leader() override;

  // Term. Returns when everything runs; errors of the API server are logged and retried.
  boost::asio::awaitable<void> Run(kube::TaskGroup& tasks) override;

 private:
  // A feature in this term of leadership.
  struct FeatureRun {
    kube::ObjectKey key;
    std::unique_ptr<FeatureTerm> term;
    std::unique_ptr<kube::Controller> controller;
  };

  void AddFeature(Feature& feature);
  // What the deletion of the ClusterPodPlacementConfig waits for; "" if nothing.
  std::string RemainsOfFeatures() const;
  std::vector<FeatureCondition> ConditionsOfFeatures() const;
  // Enqueues what routes.h says. `ns`, `uid`: of what the event is about.
  void On(Event event, const std::string& ns = "", const std::string& uid = "");
  void Enqueue(const Route& route, const std::string& ns, const std::string& uid);
  void Enqueue(FeatureRun& run, Pace pace);
  // `paced_as`: the pacer's key.
  void Enqueue(kube::Controller& controller, const kube::ObjectKey& key, Pace pace,
               const std::string& paced_as);
  // Detect which events have happened.
  void OnObject(const kube::Unstructured& object);
  void OnCluster();
  void OnUpgrade();
  // Repeats `step` until it succeeds. Errors: kCancelled.
  kube::Async<> Retry(std::function<kube::Async<>()> step);
  // Enqueues the namespaces with an authority: a teardown continues, whatever operator began it.
  kube::Async<> ReadAuthorities();

  kube::Client& client_;
  kube::Clock& clock_;
  LeaderOptions options_;
  ConfigStore configs_;
  Namespaces namespaces_;
  OperandStore store_;
  Pacer pacer_;
  Pacer gating_pacer_;
  kube::EventRecorder events_;
  UpgradeQueue upgrades_;
  // Null: no policy places pods.
  std::unique_ptr<KnownImages> known_images_;
  GatingPolicyProber gating_prober_;
  WebhookProber webhook_prober_;
  ShardReconciler shard_reconciler_;
  ClusterReconciler cluster_reconciler_;
  OwnWebhooksReconciler own_webhooks_reconciler_;
  AnnouncementCleaner announcement_cleaner_;
  kube::Controller shards_;
  kube::Controller cluster_;
  kube::Controller gating_;
  kube::Controller probes_;
  kube::Controller own_webhooks_;
  kube::Controller announcements_;
  std::list<FeatureRun> features_;
  std::vector<std::string> feature_deployments_;
  // The part of the ClusterPodPlacementConfig that concerns the shards, as of their last enqueuing.
  std::string shard_settings_;
  // Whether spec.gating was Policy at the last change.
  bool gating_by_policy_ = false;
  UpgradeProgress reported_;
};

}  // namespace operator_
