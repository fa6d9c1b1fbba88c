// SPDX-License-Identifier: Apache-2.0
#include "kube/server/health.h"

#include <gtest/gtest.h>

#include "kube/base/error.h"

namespace kube {
namespace {

TEST(HealthTest, HealthyWithoutChecks) {
  HealthRegistry health;
  EXPECT_TRUE(health.Readiness().healthy);
}

TEST(HealthTest, OneFailedCheckFailsReadinessAndIsNamed) {
  HealthRegistry health;
  bool synced = false;
  health.AddReadiness("server", [] { return Ok(); });
  health.AddReadiness("cache", [&]() -> Result<void> {
    if (!synced) return Error::Unavailable("not synced");
    return Ok();
  });
  HealthRegistry::Report report = health.Readiness();
  EXPECT_FALSE(report.healthy);
  EXPECT_EQ(report.text, "[+]server ok\n[-]cache failed: not synced\nfailed\n");

  synced = true;
  EXPECT_TRUE(health.Readiness().healthy);
}

}  // namespace
}  // namespace kube
