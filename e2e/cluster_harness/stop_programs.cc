// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/stop_programs.h"

#include "api/names.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

void FailImagePulls(const std::vector<ProgramIn>& programs, bool fail) {
  for (const auto& [program, ns] : programs)
    TheProcessCluster().kubelet().FailImagePulls(program, ns, fail);
}

Result<> DeletePodsOf(const ProgramIn& program, Cluster& cluster) {
  std::string selector = std::string(api::kOperandLabel) + "=" + program.program;
  kube::ListOptions options{.ns = program.ns, .label_selector = std::move(selector)};
  auto pods = cluster.Run(kube::ListObjects(cluster.client(), kPods, std::move(options)));
  if (!pods) return pods.error();
  if (pods->items.empty())
    return Error::NotFound("no pod of " + program.program + " in " + program.ns);
  for (const kube::Unstructured& pod : pods->items) {
    auto deleted = cluster.Run(kube::DeleteObject(cluster.client(), kPods, kube::KeyOf(pod)));
    if (!deleted && !IsNotFound(deleted)) return deleted.error();
  }
  return Ok();
}

}  // namespace

Step StopPrograms(std::vector<ProgramIn> programs) {
  auto act = [programs = std::move(programs)](Scene& scene) -> Result<> {
    FailImagePulls(programs, true);
    for (const ProgramIn& program : programs) {
      Result<> deleted = DeletePodsOf(program, scene.cluster());
      if (!deleted) return deleted.error();
    }
    return Ok();
  };
  return {.name = "stop programs", .act = std::move(act)};
}

void StartPrograms(const std::vector<ProgramIn>& programs) { FailImagePulls(programs, false); }

Condition NoProcessOf(std::vector<ProgramIn> programs) {
  auto holds = [programs = std::move(programs)](Scene&) -> Result<> {
    for (const auto& [program, ns] : programs) {
      if (!TheProcessCluster().kubelet().OfProgram(program, ns).empty())
        return Error::AlreadyExists("a process of " + program + " runs in " + ns);
    }
    return Ok();
  };
  return {.name = "programs are stopped", .holds = std::move(holds)};
}

}  // namespace e2e
