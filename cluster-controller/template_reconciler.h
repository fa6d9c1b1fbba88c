// SPDX-License-Identifier: Apache-2.0
// TemplateReconciler sets the requirement in the pod template of a workload, once:
//
//   suspended Job     one that never started, while templates.suspendedJobs is on
//   new DaemonSet     at most kNewDaemonSet old and never changed, while daemonSets.patchTemplates
//                     is on: a later change would restart its pods
//
// It reads the workload, has its images inspected in the queue of the pods, and writes it with the
// resourceVersion that was read. What is not known after kMaxAttempts attempts stays unchanged,
// with an event: a Job's pods are placed by their gates as always. Few workloads are read and
// inspected at a time, so that gated pods and memory do not depend on their number. A request names
// a workload by TemplateKey().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/template_metrics.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/queue/fair_share.h"
#include "kube/types/resource.h"
#include "kube/types/workloads.pb.h"
#include "placement/requirement.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {

inline constexpr std::chrono::minutes kNewDaemonSet{5};
// Workloads whose images are inspected.
inline constexpr kube::FairShareOptions kTemplatesAtATime{.per_namespace = 4, .total = 16};
// Decided workloads that are remembered, should another client remove what was written.
inline constexpr size_t kRememberedTemplates = 4'096;

// The reconciler's dependencies; all outlive it.
struct TemplateReconcilerParts {
  // Workloads of this namespace are left unchanged.
  std::string operator_namespace;
  kube::Client& client;
  kube::Clock& clock;
  kube::EventRecorder& events;
  watches::FreshConfigs& configs;
  PodInspector& inspector;
  NamespaceSelection& namespaces;
  TemplateMetrics& metrics;
};

// Which workloads are wanted, as far as they show it.
bool WantsTemplate(const kube::workloads::Job& job, kube::WallTime now);
bool WantsTemplate(const kube::workloads::DaemonSet& daemon_set, kube::WallTime now);

class TemplateReconciler final : public kube::Reconciler {
 public:
  explicit TemplateReconciler(TemplateReconcilerParts parts)
      : parts_(std::move(parts)), turns_(kTemplatesAtATime), decided_(kRememberedTemplates) {}

  // The current ClusterPodPlacementConfig; without one, or while it is being deleted, nothing is
  // changed.
  void Follow(std::shared_ptr<const api::ClusterPodPlacementConfig> config) {
    config_ = std::move(config);
  }
  // `wake` is called with each workload whose turn it is.
  void OnTurn(std::function<void(const kube::ObjectKey&)> wake) { turns_.OnTurn(std::move(wake)); }

  // Errors: the API server's.
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;
  // To be called when the workload is no longer wanted and no reconcile of it runs.
  void Forget(const kube::ObjectKey& key);

 private:
  struct Attempts {
    int failed = 0;
    kube::TimePoint next;
  };
  // What a pass ends with; nullopt: the workload waits for its images, and keeps its turn.
  using End = std::optional<kube::Outcome>;

  template <class Workload>
  kube::Async<End> Place(kube::ObjectKey key, kube::ObjectKey name, const std::string& log);
  template <class Workload>
  kube::Async<End> Write(kube::ObjectKey key, Workload workload, PodImages images,
                         const std::string& log);
  // Another attempt later, or the end of all attempts.
  template <class Workload>
  End Fail(const kube::ObjectKey& key, const Workload& workload, const std::string& why,
           const std::string& log);
  // It stays unchanged for good.
  template <class Workload>
  void GiveUp(const Workload& workload, const std::string& why);

  TemplateReconcilerParts parts_;
  std::shared_ptr<const api::ClusterPodPlacementConfig> config_;
  kube::FairShare turns_;
  std::unordered_map<kube::ObjectKey, Attempts> attempts_;
  kube::LruMap<bool> decided_;  // by UID
};

}  // namespace cluster_controller
