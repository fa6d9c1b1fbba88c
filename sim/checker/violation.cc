// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/violation.h"

#include <cstdio>
#include <utility>

namespace sim::checker {

std::string Describe(const Violation& violation) {
  char time[32];
  std::snprintf(time, sizeof(time), "%.3f s", std::chrono::duration<double>(violation.at).count());
  std::string text = violation.rule + " " + violation.object + " at " + time;
  if (violation.commit != 0) text += ", version " + std::to_string(violation.commit);
  return text + ": " + violation.text;
}

Violation At(const Commit& commit, std::string rule, std::string text) {
  return {std::move(rule), commit.plural + " " + commit.key.ToString(), std::move(text),
          commit.version, commit.at};
}

}  // namespace sim::checker
