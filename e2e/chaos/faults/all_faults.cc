// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "e2e/chaos/faults/faults.h"

namespace e2e {

std::vector<FaultKind> AllFaults() {
  std::vector<FaultKind> all;
  for (auto* make : {NetworkFaults, ControlPlaneFaults, ProgramFaults, ResourceFaults}) {
    for (FaultKind& kind : make()) all.push_back(std::move(kind));
  }
  return all;
}

}  // namespace e2e
