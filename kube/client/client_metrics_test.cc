// SPDX-License-Identifier: Apache-2.0
#include "kube/client/client_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(ClientMetricsTest, CountsCallsByCode) {
  Metrics metrics;
  ClientMetrics observer(metrics);
  observer.OnCall("GET", "api:6443", 200, 1ms);
  observer.OnCall("GET", "api:6443", 200, 1ms);
  observer.OnCall("PUT", "api:6443", 0, 1ms);
  std::string text = metrics.Render();
  EXPECT_THAT(
      text,
      HasSubstr("rest_client_requests_total{code=\"200\",host=\"api:6443\",method=\"GET\"} 2"));
  EXPECT_THAT(
      text,
      HasSubstr("rest_client_requests_total{code=\"<error>\",host=\"api:6443\",method=\"PUT\"} 1"));
  EXPECT_THAT(
      text,
      HasSubstr("rest_client_request_duration_seconds_count{host=\"api:6443\",verb=\"GET\"} 2"));
}

}  // namespace
}  // namespace kube
