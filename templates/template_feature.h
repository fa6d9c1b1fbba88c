// SPDX-License-Identifier: Apache-2.0
// TemplateFeature: the plugins templates and daemonSets. What a plugin watches or lists is watched
// or listed only while it is on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/term_feature.h"
#include "kube/base/async.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/controller/controller.h"
#include "kube/types/resource.h"
#include "kube/types/workloads.h"
#include "templates/daemon_set_report.h"
#include "templates/template_metrics.h"
#include "templates/template_reconciler.h"
#include "templates/workload_watch.h"

namespace templates {

inline constexpr char kController[] = "pod-templates";
inline constexpr int kWorkers = 2;
// Workloads that were left out, as too many waited, are listed again after this time.
inline constexpr std::chrono::minutes kListAgainAfter{1};

class TemplateFeature final : public cluster_controller::TermFeature {
 public:
  // All outlive it; `observer` may be null.
  TemplateFeature(const cluster_controller::TermParts& parts, TemplateMetrics& metrics,
                  kube::ControllerObserver* observer);

  // TermFeature
  void Start(kube::TaskGroup& tasks) override;
  void Follow(const api::ClusterPodPlacementConfig* config) override;
  bool Wake(const kube::ObjectKey& key) override;

 private:
  using Jobs = WorkloadWatch<kube::workloads::Job>;
  using DaemonSets = WorkloadWatch<kube::workloads::DaemonSet>;

  // What is watched.
  struct Watched {
    bool jobs = false;
    bool daemon_sets = false;
    bool operator==(const Watched&) const = default;
  };

  kube::asio::awaitable<void> Watch();
  void StartWatches(kube::TaskGroup& tasks);
  template <class Workload>
  std::function<void(const Workload&)> Enqueue(std::string_view kind);

  cluster_controller::TermParts parts_;
  TemplateMetrics& metrics_;
  TemplateReconciler reconciler_;
  DaemonSetReport report_;
  kube::Controller controller_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<DaemonSets> daemon_sets_;
  Watched watched_;
  // Since the watches began.
  bool left_out_ = false;
  kube::Notifier changed_;
};

}  // namespace templates
