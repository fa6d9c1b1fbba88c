// SPDX-License-Identifier: Apache-2.0
#include "kube/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base/clock.h"

namespace kube {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTest, SeriesExistAtZeroFromTheStart) {
  Metrics metrics;
  metrics.AddCounter("x_total", "Counts x");
  metrics.AddHistogram("x_seconds", "Times x", {0.1, 1});
  std::string text = metrics.Render();
  EXPECT_THAT(text, HasSubstr("# HELP x_total Counts x\n# TYPE x_total counter\nx_total 0\n"));
  EXPECT_THAT(text, HasSubstr("x_seconds_bucket{le=\"+Inf\"} 0\n"));
}

TEST(MetricsTest, SeriesWithDifferentLabelsShareAFamily) {
  Metrics metrics;
  metrics.AddCounter("x_total", "Counts x", {{"result", "good"}}).Increment(2);
  metrics.AddCounter("x_total", "Counts x", {{"result", "bad"}});
  metrics.AddCounter("x_total", "Counts x", {{"result", "good"}}).Increment();
  std::string text = metrics.Render();
  EXPECT_THAT(text, HasSubstr("x_total{result=\"good\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("x_total{result=\"bad\"} 0\n"));
}

TEST(MetricsTest, AComputedGaugeHasTheSeriesOfTheMoment) {
  Metrics metrics;
  Metrics::Series series = {{{{"shard", "a"}}, 1}, {{{"shard", "b"}}, 2.5}};
  metrics.AddComputedGauge("x_down", "What is down", [&series] { return series; });
  std::string text = metrics.Render();
  EXPECT_THAT(text,
              HasSubstr("# TYPE x_down gauge\nx_down{shard=\"a\"} 1\nx_down{shard=\"b\"} 2.5\n"));
  series.clear();
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("x_down{")));
}

TEST(MetricsTest, StopwatchObservesSeconds) {
  Metrics metrics;
  Histogram& histogram = metrics.AddHistogram("x_seconds", "Times x", {3600});
  { Stopwatch watch(histogram, RealClock()); }
  EXPECT_THAT(metrics.Render(), HasSubstr("x_seconds_bucket{le=\"3600\"} 1\n"));
}

TEST(MetricsTest, RendersMetricsOfTheProcess) {
  std::string text = Metrics().Render();
  for (const char* name : {"process_cpu_seconds_total ", "process_resident_memory_bytes ",
                           "process_open_fds ", "process_tasks ", "process_start_time_seconds "}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name));
  }
  EXPECT_THAT(text, Not(HasSubstr("\nprocess_resident_memory_bytes 0\n")));
}

}  // namespace
}  // namespace kube
