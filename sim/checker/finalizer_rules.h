// SPDX-License-Identifier: Apache-2.0
// FinalizerRules: a ClusterPodPlacementConfig that is being deleted is gone after the last
// PodPlacementConfig: the operator's finalizers do not stay (I7).
#pragma once

#include "sim/checker/end_checks.h"
#include "sim/checker/facts.h"
#include "sim/checker/history.h"
#include "sim/checker/violation.h"

namespace sim::checker {

class FinalizerRules {
 public:
  // `facts` outlives it.
  explicit FinalizerRules(const Facts& facts) : facts_(facts) {}

  void Add(const Commit& commit);
  void Finish(const EndOfRun& end, const History& history, Violations& violations) const;

 private:
  const Facts& facts_;
  // The configuration while it is being deleted, and since when.
  JsonRef deleted_;
  Time since_{};
};

}  // namespace sim::checker
