// SPDX-License-Identifier: Apache-2.0
// Templates: the plugins templates and daemonSets. What a plugin watches or lists is watched or
// listed only while it is on.
//
//   Templates templates(parts);
//   tasks.Spawn("templates", templates.Run());
//   templates.Follow(&config);               // with every version of the config
//   if (!templates.Wake(key)) ...            // the key of an image's result: it is of a pod
//
// Thread: the client's.
#pragma once

#include <functional>
#include <memory>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/daemon_set_report.h"
#include "cluster-controller/template_reconciler.h"
#include "cluster-controller/workload_watch.h"
#include "kube/base/async.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/controller/controller.h"
#include "kube/types/resource.h"
#include "kube/types/workloads.h"

namespace cluster_controller {

class Templates {
 public:
  // All parts outlive it.
  explicit Templates(const TemplateReconcilerParts& parts);

  // Until cancelled.
  kube::asio::awaitable<void> Run();
  // nullptr: there is none.
  void Follow(const api::ClusterPodPlacementConfig* config);
  // To be called when something that was waited for is there. False if the key is not of a
  // template.
  bool Wake(const kube::ObjectKey& key);

 private:
  using Jobs = WorkloadWatch<kube::workloads::Job>;
  using DaemonSets = WorkloadWatch<kube::workloads::DaemonSet>;

  // What is on.
  struct Options {
    bool jobs = false;
    bool daemon_sets = false;
    bool report = false;
    bool operator==(const Options&) const = default;
  };

  void Start(kube::TaskGroup& tasks);
  template <class Watch, class Workload>
  std::unique_ptr<Watch> NewWatch(std::string_view kind, std::string field_selector);
  void OnChange(kube::EventType type, const kube::ObjectKey& key);

  TemplateReconcilerParts parts_;
  TemplateReconciler reconciler_;
  DaemonSetReport report_;
  kube::Controller controller_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<DaemonSets> daemon_sets_;
  Options options_;
  kube::Notifier changed_;
};

}  // namespace cluster_controller
