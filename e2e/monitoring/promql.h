// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace e2e {

// The names of the metrics that a PromQL expression uses:
// "sum by (job) (rate(requests_total{code=~"4.."}[5m])) > 1" -> requests_total. Enough of the
// grammar for expressions that Prometheus accepts.
std::set<std::string> MetricsIn(std::string expression);

}  // namespace e2e
