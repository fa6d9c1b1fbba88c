// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/controller_metrics.h"

#include <vector>

namespace kube {
namespace {

const char kTotal[] = "controller_runtime_reconcile_total";
const char kTotalHelp[] = "Total number of reconciliations per controller";

// Bounds of controller-runtime and client-go, in seconds.
const std::vector<double>& ReconcileBuckets() {
  static const std::vector<double> buckets = {
      0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
      0.7,   0.8,  0.9,   1.0,  1.25, 1.5,  1.75, 2.0,  2.5, 3.0,  3.5, 4.0,  4.5, 5,
      6,     7,    8,     9,    10,   15,   20,   25,   30,  40,   50,  60};
  return buckets;
}
const std::vector<double>& QueueBuckets() {
  static const std::vector<double> buckets = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                              1e-2, 0.1,  1,    10,   100,  1000};
  return buckets;
}

Counter& Total(Metrics& metrics, const std::string& controller, const char* result) {
  return metrics.AddCounter(kTotal, kTotalHelp, {{"controller", controller}, {"result", result}});
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

ControllerMetrics::ControllerMetrics(Metrics& metrics, Clock& clock, const std::string& controller,
                                     int workers)
    : success_(Total(metrics, controller, "success")),
      requeue_after_(Total(metrics, controller, "requeue_after")),
      requeue_(Total(metrics, controller, "requeue")),
      error_(Total(metrics, controller, "error")),
      errors_(metrics.AddCounter("controller_runtime_reconcile_errors_total",
                                 "Total number of reconciliation errors per controller",
                                 {{"controller", controller}})),
      terminal_errors_(
          metrics.AddCounter("controller_runtime_terminal_reconcile_errors_total",
                             "Total number of terminal reconciliation errors per controller",
                             {{"controller", controller}})),
      panics_(metrics.AddCounter("controller_runtime_reconcile_panics_total",
                                 "Total number of reconciliation panics per controller",
                                 {{"controller", controller}})),
      time_(metrics.AddHistogram("controller_runtime_reconcile_time_seconds",
                                 "Length of time per reconciliation per controller",
                                 ReconcileBuckets(), {{"controller", controller}})),
      active_workers_(metrics.AddGauge("controller_runtime_active_workers",
                                       "Number of currently used workers per controller",
                                       {{"controller", controller}})),
      depth_(metrics.AddGauge("workqueue_depth", "Current depth of workqueue",
                              {{"controller", controller}, {"name", controller}})),
      adds_(metrics.AddCounter("workqueue_adds_total", "Total number of adds handled by workqueue",
                               {{"controller", controller}, {"name", controller}})),
      retries_(metrics.AddCounter("workqueue_retries_total",
                                  "Total number of retries handled by workqueue",
                                  {{"controller", controller}, {"name", controller}})),
      queue_duration_(metrics.AddHistogram(
          "workqueue_queue_duration_seconds",
          "How long in seconds an item stays in workqueue before being requested", QueueBuckets(),
          {{"controller", controller}, {"name", controller}})),
      work_duration_(
          metrics.AddHistogram("workqueue_work_duration_seconds",
                               "How long in seconds processing an item from workqueue takes",
                               QueueBuckets(), {{"controller", controller}, {"name", controller}})),
      working_(std::make_shared<std::multiset<TimePoint>>()) {
  metrics
      .AddGauge("controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                {{"controller", controller}})
      .Set(workers);

  Gauge& unfinished = metrics.AddGauge(
      "workqueue_unfinished_work_seconds",
      "Seconds for which all items that are being processed have been so, summed up",
      {{"controller", controller}, {"name", controller}});
  Gauge& longest =
      metrics.AddGauge("workqueue_longest_running_processor_seconds",
                       "Seconds for which the item that takes longest by now has been processed",
                       {{"controller", controller}, {"name", controller}});
  metrics.OnRender([working = working_, &clock, &unfinished, &longest] {
    TimePoint now = clock.Now();
    double sum = 0;
    for (TimePoint since : *working) sum += Seconds(now - since);
    unfinished.Set(sum);
    longest.Set(working->empty() ? 0 : Seconds(now - *working->begin()));
  });
}

void ControllerMetrics::OnDepth(size_t depth) { depth_.Set(static_cast<double>(depth)); }
void ControllerMetrics::OnAdded() { adds_.Increment(); }
void ControllerMetrics::OnRetried() { retries_.Increment(); }
void ControllerMetrics::OnActiveWorkers(int workers) { active_workers_.Set(workers); }

void ControllerMetrics::OnTaken(TimePoint since, TimePoint now) {
  queue_duration_.Observe(Seconds(now - since));
  working_->insert(now);
}

void ControllerMetrics::OnDone(TimePoint since, TimePoint now) {
  work_duration_.Observe(Seconds(now - since));
  auto taken = working_->find(since);
  if (taken != working_->end()) working_->erase(taken);
}

void ControllerMetrics::OnReconciled(Ending ending, bool panicked, Duration took) {
  time_.Observe(Seconds(took));
  if (panicked) panics_.Increment();
  switch (ending) {
    case Ending::kSuccess:
      success_.Increment();
      break;
    case Ending::kRequeueAfter:
      requeue_after_.Increment();
      break;
    case Ending::kRequeue:
      requeue_.Increment();
      break;
    case Ending::kTerminalError:
      terminal_errors_.Increment();
      [[fallthrough]];
    case Ending::kError:
      error_.Increment();
      errors_.Increment();
      break;
  }
}

EventMetrics::EventMetrics(Metrics& metrics, std::string_view prefix)
    : waiting_(
          metrics.AddGauge(std::string(prefix) + "events_waiting", "Events that wait to be sent")),
      dropped_(metrics.AddCounter(
          std::string(prefix) + "events_dropped_total",
          "Events that found the queue full, were refused, or waited for too long")) {}

void EventMetrics::OnWaiting(size_t events) { waiting_.Set(static_cast<double>(events)); }

void EventMetrics::OnDropped(size_t events) { dropped_.Increment(static_cast<double>(events)); }

std::function<void(bool)> LeaderMetric(Metrics& metrics, const std::string& name) {
  Gauge& leader = metrics.AddGauge("leader_election_master_status",
                                   "1 if this process leads by the lease of that name, else 0",
                                   {{"name", name}});
  return [&leader](bool leads) { leader.Set(leads ? 1 : 0); };
}

}  // namespace kube
