// SPDX-License-Identifier: Apache-2.0
// Steps that keep programs of the operator from running, whatever their Deployments say.
//
//   std::vector<ProgramIn> programs = {{"shard", "shop"}};
//   flow.Do(StopPrograms(programs)).Await(NoProcessOf(programs));
//   StartPrograms(programs);
#pragma once

#include <string>
#include <vector>

#include "e2e/framework/flow.h"

namespace e2e {

// A program in a namespace, as its operand label names it: "cluster-controller", "shard".
struct ProgramIn {
  std::string program;
  std::string ns;
};

// Deletes the pods of the programs; new ones wait until StartPrograms().
Step StopPrograms(std::vector<ProgramIn> programs);
void StartPrograms(const std::vector<ProgramIn>& programs);

// A process works until it has ended, which is after its pod was deleted.
Condition NoProcessOf(std::vector<ProgramIn> programs);

}  // namespace e2e
