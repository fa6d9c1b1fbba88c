// SPDX-License-Identifier: Apache-2.0
// What the status of each PodPlacementConfig says at the end (docs/reference.md, Conditions of a
// PodPlacementConfig): it is about the present generation, and of two with one priority, the
// younger one says that it is not applied.
#pragma once

#include <map>
#include <string>

#include "sim/checker/end_checks.h"

namespace sim::checker {

class StatusRules {
 public:
  explicit StatusRules(const Facts& facts) : facts_(facts) {}

  void Add(const Commit& commit);
  void Finish(const EndOfRun& end, const History& history, Violations& violations) const;

 private:
  struct Status {
    int64_t generation = 0;
    int64_t observed = 0;
    // Of the condition Available, if it is False.
    std::string unavailable;
    Time changed{};
  };

  const Facts& facts_;
  std::map<kube::ObjectKey, Status> statuses_;
};

}  // namespace sim::checker
