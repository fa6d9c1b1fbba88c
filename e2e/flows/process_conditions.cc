// SPDX-License-Identifier: Apache-2.0
#include "e2e/flows/process_conditions.h"

#include "e2e/cluster_harness/process_cluster.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

Condition NoProcessOf(const std::string& program) {
  return {.name = "no process of " + program, .holds = [program](Scene& scene) -> Result<> {
            if (TheProcessCluster().kubelet().OfProgram(program, scene.ns()).empty()) return Ok();
            return Error::AlreadyExists("a process of " + program + " runs");
          }};
}

Condition UngatedSoFar(size_t count) {
  return {.name = std::to_string(count) + " pods are ungated",
          .holds = [count](Scene& scene) -> Result<> {
            size_t ungated = 0;
            for (const PodHistory* pod : scene.pods().All())
              ungated += !IsOperand(pod->last()) && !IsGated(pod->last());
            if (ungated >= count) return Ok();
            return Error::NotFound(std::to_string(ungated) + " pods are");
          }};
}

}  // namespace e2e
