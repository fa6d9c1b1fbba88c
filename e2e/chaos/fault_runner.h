// SPDX-License-Identifier: Apache-2.0
// FaultRunner: begins and ends the faults of a plan.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "e2e/chaos/faults/fault_kind.h"
#include "e2e/chaos/plan/plan.h"
#include "e2e/chaos/pod_waits.h"
#include "e2e/chaos/report.h"
#include "e2e/chaos/stage/stage.h"

namespace e2e {

// Thread: the cluster's.
class FaultRunner {
 public:
  // `kinds` has those of the plan. All outlive it.
  FaultRunner(Stage& stage, const std::vector<FaultKind>& kinds, std::vector<PlannedFault> plan,
              PodWaits& waits);

  // Begins and ends what is due. `now`: since the start of the run.
  void Step(std::chrono::milliseconds now);
  // Ends all that have begun.
  void EndAll(std::chrono::milliseconds now);

  // The faults that were, as they were.
  const std::vector<PlannedFault>& timeline() const { return timeline_; }
  std::vector<KindReport> Reports() const;

 private:
  struct Active {
    const FaultKind* kind;
    std::chrono::milliseconds end;
    EndFault finish;
    size_t at;  // in timeline_
  };

  void Begin(const PlannedFault& planned, std::chrono::milliseconds now);
  void End(const Active& active, std::chrono::milliseconds now);

  Stage& stage_;
  const std::vector<FaultKind>& kinds_;
  std::vector<PlannedFault> plan_;
  PodWaits& waits_;
  size_t next_ = 0;
  std::vector<Active> active_;
  std::vector<PlannedFault> timeline_;
  std::map<std::string, std::map<std::string, int>> not_possible_;  // by kind and reason
};

}  // namespace e2e
