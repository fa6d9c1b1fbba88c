// SPDX-License-Identifier: Apache-2.0
// TemplateFeature: the plugins templates and daemonSets. What a plugin watches or lists is watched
// or listed only while it is on.
#pragma once

#include <chrono>
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
#include "templates/template_key.h"
#include "templates/template_metrics.h"
#include "templates/template_reconciler.h"

namespace templates {

inline constexpr char kController[] = "pod-templates";
inline constexpr int kWorkers = 2;
// Workloads of a kind of which some were left out, as too many waited, are listed again after this
// time; doubled by each further list that leaves some out.
inline constexpr std::chrono::minutes kListAgainAfter{1};
inline constexpr std::chrono::minutes kListAgainAtMost{10};

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
  // Of a kind of workloads.
  struct Watched {
    std::string_view kind;
    bool on = false;
    // Since the watch began.
    bool left_out = false;
    kube::Notifier changed{};
  };

  template <class Workload>
  kube::asio::awaitable<void> Watch(Watched& watched, std::string field_selector);
  template <class Workload>
  void See(Watched& watched, const Workload& workload, bool too_large);

  cluster_controller::TermParts parts_;
  TemplateReconciler reconciler_;
  DaemonSetReport report_;
  kube::Controller controller_;
  Watched jobs_{.kind = kJobs};
  Watched daemon_sets_{.kind = kDaemonSets};
};

}  // namespace templates
