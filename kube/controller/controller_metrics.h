// SPDX-License-Identifier: Apache-2.0
// ControllerMetrics: metrics of controllers, work queues, event recorders and leader elections.
// Names and labels are controller-runtime's, so existing dashboards work. All series exist, at
// zero, from the start.
//
//   ControllerMetrics observer(metrics, clock, "pod-labeler", /*workers=*/4);
//   Controller pods({.name = "pod-labeler", .workers = 4}, reconciler, clock, &observer);
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "kube/base/clock.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/metrics/metrics.h"

namespace kube {

class ControllerMetrics final : public ControllerObserver {
 public:
  // `metrics` outlives this object, and `clock` the last Render() of `metrics`.
  ControllerMetrics(Metrics& metrics, Clock& clock, const std::string& controller, int workers);

  // WorkQueueObserver
  void OnDepth(size_t depth) override;
  void OnAdded() override;
  void OnRetried() override;
  void OnTaken(TimePoint since, TimePoint now) override;
  void OnDone(TimePoint since, TimePoint now) override;
  // ControllerObserver
  void OnActiveWorkers(int workers) override;
  void OnReconciled(Ending ending, bool panicked, Duration took) override;

 private:
  // controller_runtime_reconcile_total by result; kError and kTerminalError are both "error".
  Counter& success_;
  Counter& requeue_after_;
  Counter& requeue_;
  Counter& error_;
  Counter& errors_;
  Counter& terminal_errors_;
  Counter& panics_;
  Histogram& time_;
  Gauge& active_workers_;
  Gauge& depth_;
  Counter& adds_;
  Counter& retries_;
  Histogram& queue_duration_;
  Histogram& work_duration_;
  // When each key in work was taken; shared with the function that updates two gauges at each
  // scrape, which may outlive this object.
  std::shared_ptr<std::multiset<TimePoint>> working_;
};

// The metrics of an EventRecorder: PREFIXevents_waiting and PREFIXevents_dropped_total.
class EventMetrics final : public EventObserver {
 public:
  EventMetrics(Metrics& metrics, std::string_view prefix);

  // EventObserver
  void OnWaiting(size_t events) override;
  void OnDropped(size_t events) override;

 private:
  Gauge& waiting_;
  Counter& dropped_;
};

// For LeaseOptions::on_change: leader_election_master_status{name}.
std::function<void(bool)> LeaderMetric(Metrics& metrics, const std::string& name);

}  // namespace kube
