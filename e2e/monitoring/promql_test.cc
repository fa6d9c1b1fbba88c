// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/promql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PromqlTest, MetricsAreNeitherFunctionsNorLabelsNorOperators) {
  EXPECT_THAT(MetricsIn("up"), ElementsAre("up"));
  EXPECT_THAT(
      MetricsIn(R"(sum by (job, code) (rate(requests_total{a="b", c=~"d(e)}"}[5m])) > 0.02)"),
      ElementsAre("requests_total"));
  EXPECT_THAT(MetricsIn(R"(max (a_total{x="y"}) == 1 or absent(b == 1) unless on(job) c)"),
              ElementsAre("a_total", "b", "c"));
  EXPECT_THAT(MetricsIn(R"q(max by (ns) (label_replace(a{o="s"}, "ns", "$1", "o", "(.*)")) == 1)q"),
              ElementsAre("a"));
  EXPECT_THAT(MetricsIn("histogram_quantile(0.99, sum by (le) (rate(a_bucket[1m])))"),
              ElementsAre("a_bucket"));
  EXPECT_THAT(MetricsIn("time() - 1209600"), IsEmpty());
}

}  // namespace
}  // namespace e2e
