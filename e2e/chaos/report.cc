// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/report.h"

#include <cstdio>

namespace e2e {

using kube::Json;
using std::chrono::milliseconds;

namespace {

double Seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

std::string Text(milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", Seconds(time));
  return text;
}

Json SummaryToJson(const PodWaits::Summary& summary) {
  return {{"pods", summary.pods},
          {"longest_seconds", Seconds(summary.longest)},
          {"longest_of", summary.pod}};
}

}  // namespace

Json ReportToJson(const RunReport& report, const PodWaits& waits,
                  const std::vector<PlannedFault>& timeline) {
  Json kinds = Json::array();
  for (const KindReport& kind : report.kinds) {
    kinds.push_back({{"kind", kind.kind},
                     {"what", kind.what},
                     {"holds", kind.holds},
                     {"times", kind.times},
                     {"seconds", Seconds(kind.length)},
                     {"not_possible", kind.not_possible},
                     {"waits", SummaryToJson(waits.Of(kind.kind))}});
  }
  Json faults = Json::array();
  for (const PlannedFault& fault : timeline) {
    faults.push_back(
        {{"kind", fault.kind}, {"begin", Seconds(fault.begin)}, {"end", Seconds(fault.end)}});
  }
  return {{"seed", report.seed},
          {"revision", report.revision},
          {"seconds", Seconds(report.length)},
          {"kinds", std::move(kinds)},
          {"faults", std::move(faults)},
          {"counts", report.counts},
          {"waits", SummaryToJson(waits.Total())},
          {"waits_without_fault", SummaryToJson(waits.WithoutFault())},
          {"quiet_after_seconds", Seconds(report.quiet_after)},
          {"violations", report.violations},
          {"not_judged", report.not_judged}};
}

std::string DescribeReport(const RunReport& report, const PodWaits& waits) {
  std::string text;
  char line[200];
  for (const KindReport& kind : report.kinds) {
    const PodWaits::Summary summary = waits.Of(kind.kind);
    std::snprintf(line, sizeof line, "%-36s %3d times, %6zu pods, longest wait %s\n",
                  kind.kind.c_str(), kind.times, summary.pods, Text(summary.longest).c_str());
    text += line;
    for (const auto& [reason, times] : kind.not_possible)
      text += "    " + std::to_string(times) + " not possible: " + reason + "\n";
  }
  text += "without a fault: " + std::to_string(waits.WithoutFault().pods) + " pods, longest wait " +
          Text(waits.WithoutFault().longest) + "\n";
  text += "longest of all: " + Text(waits.Total().longest) + ", " + waits.Total().pod + "\n";
  text += "quiet after the last fault: " + Text(report.quiet_after) + "\n";
  for (const auto& [name, count] : report.counts)
    text += name + ": " + std::to_string(count) + "\n";
  for (const auto& [reason, count] : report.not_judged)
    text += "not judged: " + reason + ": " + std::to_string(count) + "\n";
  for (const std::string& violation : report.violations) text += "VIOLATION: " + violation + "\n";
  text += std::to_string(report.violations.size()) + " violations, seed " +
          std::to_string(report.seed) + "\n";
  return text;
}

}  // namespace e2e
