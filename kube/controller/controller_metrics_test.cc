// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/controller_metrics.h"

#include <gmock/gmock.h>

#include "kube/testing/fake_clock.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Ending = ControllerObserver::Ending;

TEST(ControllerMetricsTest, EverySeriesExistsAtZeroFromTheStart) {
  Metrics metrics;
  FakeClock clock;
  ControllerMetrics observer(metrics, clock, "pods", 4);
  std::string text = metrics.Render();
  for (const char* line : {
           R"(controller_runtime_reconcile_total{controller="pods",result="success"} 0)",
           R"(controller_runtime_reconcile_total{controller="pods",result="error"} 0)",
           R"(controller_runtime_reconcile_total{controller="pods",result="requeue"} 0)",
           R"(controller_runtime_reconcile_total{controller="pods",result="requeue_after"} 0)",
           R"(controller_runtime_reconcile_errors_total{controller="pods"} 0)",
           R"(controller_runtime_reconcile_time_seconds_count{controller="pods"} 0)",
           R"(controller_runtime_active_workers{controller="pods"} 0)",
           R"(controller_runtime_max_concurrent_reconciles{controller="pods"} 4)",
           R"(workqueue_depth{controller="pods",name="pods"} 0)",
           R"(workqueue_adds_total{controller="pods",name="pods"} 0)",
           R"(workqueue_retries_total{controller="pods",name="pods"} 0)",
           R"(workqueue_queue_duration_seconds_count{controller="pods",name="pods"} 0)",
           R"(workqueue_work_duration_seconds_count{controller="pods",name="pods"} 0)",
           R"(workqueue_unfinished_work_seconds{controller="pods",name="pods"} 0)",
           R"(workqueue_longest_running_processor_seconds{controller="pods",name="pods"} 0)",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(ControllerMetricsTest, CountsOutcomesAndQueueOperations) {
  Metrics metrics;
  FakeClock clock;
  ControllerMetrics observer(metrics, clock, "c", 1);
  observer.OnAdded();
  observer.OnDepth(3);
  observer.OnRetried();
  TimePoint taken = clock.Now();
  observer.OnTaken(taken - 2s, taken);
  observer.OnDone(taken, taken + 1s);
  observer.OnActiveWorkers(1);
  observer.OnReconciled(Ending::kSuccess, false, 20ms);
  observer.OnReconciled(Ending::kRequeue, false, 20ms);
  observer.OnReconciled(Ending::kError, true, 20ms);
  observer.OnReconciled(Ending::kTerminalError, false, 20ms);
  std::string text = metrics.Render();
  for (const char* line : {
           R"(reconcile_total{controller="c",result="success"} 1)",
           R"(reconcile_total{controller="c",result="requeue"} 1)",
           R"(reconcile_total{controller="c",result="error"} 2)",
           R"(reconcile_errors_total{controller="c"} 2)",
           R"(terminal_reconcile_errors_total{controller="c"} 1)",
           R"(reconcile_panics_total{controller="c"} 1)",
           R"(reconcile_time_seconds_bucket{controller="c",le="0.025"} 4)",
           R"(workqueue_depth{controller="c",name="c"} 3)",
           R"(workqueue_queue_duration_seconds_sum{controller="c",name="c"} 2)",
           R"(workqueue_work_duration_seconds_sum{controller="c",name="c"} 1)",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(ControllerMetricsTest, UnfinishedWorkIsVisible) {
  Metrics metrics;
  FakeClock clock;
  {
    ControllerMetrics observer(metrics, clock, "c", 2);
    TimePoint first = clock.Now();
    observer.OnTaken(first, first);
    clock.Advance(30s);
    TimePoint second = clock.Now();
    observer.OnTaken(second, second);
    clock.Advance(10s);
    std::string text = metrics.Render();
    EXPECT_THAT(text,
                HasSubstr(R"(workqueue_unfinished_work_seconds{controller="c",name="c"} 50)"));
    EXPECT_THAT(
        text,
        HasSubstr(R"(workqueue_longest_running_processor_seconds{controller="c",name="c"} 40)"));

    observer.OnDone(first, clock.Now());
    clock.Advance(5s);
    text = metrics.Render();
    EXPECT_THAT(text,
                HasSubstr(R"(workqueue_unfinished_work_seconds{controller="c",name="c"} 15)"));
    EXPECT_THAT(
        text,
        HasSubstr(R"(workqueue_longest_running_processor_seconds{controller="c",name="c"} 15)"));
    observer.OnDone(second, clock.Now());
  }
  // A scrape during shutdown reports no work in flight.
  EXPECT_THAT(metrics.Render(),
              HasSubstr(R"(workqueue_unfinished_work_seconds{controller="c",name="c"} 0)"));
}

TEST(ControllerMetricsTest, ReportsLeadership) {
  Metrics metrics;
  std::function<void(bool)> on_change = LeaderMetric(metrics, "operator");
  EXPECT_THAT(metrics.Render(), HasSubstr(R"(leader_election_master_status{name="operator"} 0)"));
  on_change(true);
  EXPECT_THAT(metrics.Render(), HasSubstr(R"(leader_election_master_status{name="operator"} 1)"));
}

}  // namespace
}  // namespace kube
