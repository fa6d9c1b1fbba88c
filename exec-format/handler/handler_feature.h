// SPDX-License-Identifier: Apache-2.0
// HandlerFeature: handles the ENoExecEvents in the operator's namespace while the plugin
// execFormatErrorMonitor is enabled. They are watched only then. With the plugin imageFindings, it
// also learns from them (learning/). An aid: whatever fails here, pods are placed as without it.
#pragma once

#include <memory>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/term_feature.h"
#include "exec-format/handler/event_reconciler.h"
#include "exec-format/handler/handler_metrics.h"
#include "exec-format/learning/learner.h"
#include "exec-format/learning/learning_metrics.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/resource.h"

namespace exec_format {

inline constexpr char kController[] = "exec-format-errors";
inline constexpr int kWorkers = 1;

class HandlerFeature final : public cluster_controller::TermFeature {
 public:
  // `ns`: the operator's namespace. The references outlive it; `learner` and `observer` may be
  // null.
  HandlerFeature(std::string ns, kube::Client& client, kube::Clock& clock,
                 kube::EventRecorder& events, HandlerMetrics& metrics,
                 std::unique_ptr<Learner> learner, kube::ControllerObserver* observer);

  // TermFeature
  void Start(kube::TaskGroup& tasks) override;
  void Follow(const api::ClusterPodPlacementConfig* config) override;
  bool Wake(const kube::ObjectKey&) override { return false; }

 private:
  kube::asio::awaitable<void> Watch();
  // Watches until the plugin is off, or objects that were left out may have room. Errors:
  // kCancelled.
  kube::Async<> WatchOnce();
  void OnChange(kube::EventType type, const kube::ObjectKey& key, size_t known);

  std::string ns_;
  kube::Client& client_;
  kube::Clock& clock_;
  std::unique_ptr<Learner> learner_;
  EventReconciler reconciler_;
  kube::Controller controller_;
  bool is_on_ = false;
  kube::Notifier changed_;
  // Of the current watch: it knew kMaxObjects, so others may have been left out; list again.
  bool was_full_ = false;
  bool list_again_ = false;
};

std::unique_ptr<HandlerFeature> NewHandlerFeature(const cluster_controller::TermParts& term,
                                                  HandlerMetrics& metrics,
                                                  LearningMetrics& learning_metrics,
                                                  kube::ControllerObserver* observer);

}  // namespace exec_format
