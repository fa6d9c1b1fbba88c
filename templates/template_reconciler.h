// SPDX-License-Identifier: Apache-2.0
// TemplateReconciler sets the requirement in the pod template of a new workload:
//
//   Job               suspended and not running, at most kNewJob old, while templates.suspendedJobs
//                     is on
//   DaemonSet         at most kNewDaemonSet old and never changed, while daemonSets.patchTemplates
//                     is on: the change replaces the pods that it has by then
//
// It reads the workload, has its images inspected in the queue of the pods, and writes it with the
// resourceVersion that was read. What is not known after kMaxAttempts attempts within that time
// stays unchanged, with an event: a Job's pods are placed by their gates as always. Few workloads
// are read and inspected at a time, so that gated pods and memory do not depend on their number. A
// request names a workload by TemplateKey().
//
// In one term of leadership, a workload is decided once: what another client removes afterwards
// stays removed. After the term, a workload that is still new may be changed again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/term_feature.h"
#include "kube/base/async.h"
#include "kube/base/lru_map.h"
#include "kube/controller/reconciler.h"
#include "kube/queue/fair_share.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "kube/types/workloads.pb.h"
#include "placement/platforms.h"
#include "templates/template_metrics.h"
#include "templates/waiting_templates.h"

namespace templates {

inline constexpr std::chrono::seconds kNewJob{600};
inline constexpr std::chrono::seconds kNewDaemonSet{30};
// Workloads whose images are inspected. The first of a namespace waits for no other namespace: the
// time of a DaemonSet is short.
inline constexpr kube::FairShareOptions kTemplatesAtATime{
    .per_namespace = 4, .total = 16, .first_always_enters = true};
// Decided workloads that are remembered, should another client remove what was written.
inline constexpr size_t kRememberedTemplates = 4'096;

class TemplateReconciler final : public kube::Reconciler {
 public:
  // All outlive it.
  TemplateReconciler(const cluster_controller::TermParts& parts, TemplateMetrics& metrics)
      : parts_(parts),
        metrics_(metrics),
        turns_(kTemplatesAtATime),
        decided_(kRememberedTemplates),
        told_(kRememberedTemplates) {}

  // The current ClusterPodPlacementConfig; without one, or while it is being deleted, nothing is
  // changed.
  void Follow(std::shared_ptr<const api::ClusterPodPlacementConfig> config) {
    config_ = std::move(config);
  }
  // `wake` is called with each workload whose turn it is.
  void OnTurn(std::function<void(const kube::ObjectKey&)> wake) { turns_.OnTurn(std::move(wake)); }

  // Whether the workload's template may take a requirement, as far as the workload shows it.
  bool Wants(const kube::workloads::Job& job);
  bool Wants(const kube::workloads::DaemonSet& daemon_set);
  // To be called before the workload is enqueued. False: too many wait.
  bool Add(const kube::ObjectKey& key) { return waiting_.Add(key) != nullptr; }
  // To be called instead for a workload beyond `limit`, which gets an event. False: it has one, or
  // too many wait for theirs; else it is to be enqueued.
  bool LeaveOut(const kube::ObjectKey& key, kube::core::ObjectReference workload, Limit limit);
  // Those that were added and are not decided.
  std::vector<kube::ObjectKey> Waiting() const { return waiting_.Keys(); }

  // Errors: the API server's.
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // What a pass ends with; nullopt: the workload waits for its images, and keeps its turn.
  using End = std::optional<kube::Outcome>;

  // nullptr: the plugin for workloads of this kind is off.
  std::shared_ptr<const api::ClusterPodPlacementConfig> ConfigFor(std::string_view kind) const;
  // Whatever its age is.
  template <class Workload>
  bool Takes(const Workload& workload);
  bool IsNew(const kube::meta::ObjectMeta& workload, std::chrono::seconds age) const;

  // Errors: those of reading the namespace.
  kube::Async<> TellLeftOut(std::string kind, LeftOut left_out);
  template <class Workload>
  kube::Async<End> Place(kube::ObjectKey key, kube::ObjectKey name, const std::string& log);
  // `pod`: PodOf() its template.
  template <class Workload>
  kube::Async<End> Write(kube::ObjectKey key, Workload workload, kube::core::Pod pod,
                         placement::CommonPlatforms images, const std::string& log);
  // Another attempt later, or the end of all attempts.
  template <class Workload>
  End Fail(const kube::ObjectKey& key, const Workload& workload, const std::string& why,
           const std::string& log);
  // It stays unchanged.
  template <class Workload>
  void GiveUp(const Workload& workload, const std::string& why);
  // The same, as its time has passed: others had their turn, or the API server is slow.
  template <class Workload>
  void GiveUpLate(const Workload& workload);
  void Tell(const kube::core::ObjectReference& workload, const std::string& why);

  cluster_controller::TermParts parts_;
  TemplateMetrics& metrics_;
  std::shared_ptr<const api::ClusterPodPlacementConfig> config_;
  WaitingTemplates waiting_;
  LeftOutTemplates left_out_{kLeftOutOptions};
  kube::FairShare turns_;
  kube::LruMap<bool> decided_;  // by UID
  kube::LruMap<bool> told_;     // left out and not decided, by UID
};

}  // namespace templates
