// SPDX-License-Identifier: Apache-2.0
// Report: what a run did and found, as JSON for page.py and as text for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "e2e/chaos/plan/plan.h"
#include "e2e/chaos/pod_waits.h"
#include "kube/types/unstructured.h"

namespace e2e {

// What happened of one kind.
struct KindReport {
  std::string kind, what, holds;
  int times = 0;
  std::chrono::milliseconds length{0};  // of all of them
  // Why it was not possible, with how often.
  std::map<std::string, int> not_possible;
};

struct RunReport {
  uint64_t seed = 0;
  std::string revision;
  std::chrono::milliseconds length{0};
  std::vector<KindReport> kinds;
  // Name -> number: "pods", "configs", ...
  std::map<std::string, uint64_t> counts;
  // How long after the last fault everything worked and no pod waited.
  std::chrono::milliseconds quiet_after{0};
  // What must not be; empty: the run has passed.
  std::vector<std::string> violations;
  // What the judge did not judge: reason -> number.
  std::map<std::string, uint64_t> not_judged;
};

// `timeline`: the faults as they were.
kube::Json ReportToJson(const RunReport& report, const PodWaits& waits,
                        const std::vector<PlannedFault>& timeline);

// The same, short: a line for each kind, the counts, the violations.
std::string DescribeReport(const RunReport& report, const PodWaits& waits);

}  // namespace e2e
