// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/rest.h"

namespace sim::checker {

void CheckAtRest(const Commit& commit, const Writer& writer, Violations& violations) {
  if (!writer.IsOurs() || IsOf(commit, "coordination.k8s.io", "leases")) return;
  violations.push_back(
      At(commit, "rest", writer.Describe() + " wrote it (" + commit.verb + ") at rest"));
}

}  // namespace sim::checker
