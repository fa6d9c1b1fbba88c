// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/report.h"

#include <cstdio>
#include <map>

namespace sim {
namespace {

std::string Hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string Row(const std::string& name, const std::string& value) {
  constexpr size_t kWidth = 44;
  return "  " + name + std::string(name.size() < kWidth ? kWidth - name.size() : 1, ' ') + value +
         "\n";
}

std::string Row(const std::string& name, uint64_t value) {
  return Row(name, std::to_string(value));
}

}  // namespace

std::string DescribeRun(const Outcome& outcome) {
  std::string text = std::to_string(static_cast<int64_t>(outcome.virtual_seconds)) + " s, " +
                     std::to_string(outcome.commits) + " commits, " +
                     std::to_string(outcome.judged) + " releases judged, hash " +
                     Hex(outcome.hash) + ", " +
                     (outcome.failed() ? std::to_string(outcome.violations.size()) + " violations"
                                       : "no violation") +
                     "\n";
  for (const checker::Violation& violation : outcome.violations)
    text += "  " + checker::Describe(violation) + "\n";
  return text;
}

std::string DescribeSum(const Outcome& sum, uint64_t runs) {
  char hours[32];
  std::snprintf(hours, sizeof(hours), "%.1f h", sum.virtual_seconds / 3600);
  std::string text = "Runs\n" + Row("seeds", runs) + Row("virtual time", hours) +
                     Row("commits", sum.commits) + Row("handlers", sum.handlers) +
                     Row("calls of users: accepted", sum.accepted) +
                     Row("calls of users: refused", sum.refused);
  text += "Operations and faults\n";
  for (const auto& [name, count] : sum.operations) text += Row(name, count);
  text += "Releases of pods\n" + Row("judged", sum.judged) +
          Row("judged: at the creation", sum.at_creation) + Row("gates only", sum.bare);
  for (const auto& [reason, count] : sum.not_judged) text += Row("not judged: " + reason, count);
  text += "Violations\n";
  std::map<std::string, uint64_t> rules;
  for (const checker::Violation& violation : sum.violations) ++rules[violation.rule];
  for (const auto& [rule, count] : rules) text += Row(rule, count);
  if (rules.empty()) text += Row("none", 0);
  return text;
}

}  // namespace sim
