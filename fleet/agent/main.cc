// SPDX-License-Identifier: Apache-2.0
// agent: the part of a fleet that runs in each member cluster. Publishes the cluster's status and
// scores on the hub and applies what the hub rolls out. It only makes outbound calls. The replica
// that holds the Lease works (see agent.h).
#include <memory>
#include <string>

#include "api/user_agent.h"
#include "api/version.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/options.h"
#include "kube/base/app.h"
#include "kube/controller/controller_metrics.h"
#include "kube/program/program.h"

namespace fleet {
namespace {

constexpr std::string_view kName = "fleet-agent";
constexpr std::string_view kLeaseName = "multiarch-fleet-agent";

kube::Async<> Serve(kube::Program& program) {
  kube::Result<AgentOptions> options = OptionsFromFlags();
  if (!options) co_return options.error();
  auto hub = ConnectHub(program);
  if (!hub) co_return hub.error();
  kube::Result<> done = program.Connect();
  if (done) done = program.StartOps(&program.metrics());
  if (!done) co_return done;

  // Work, while this replica holds the Lease.
  kube::ControllerMetrics observer(program.metrics(), program.clock(), std::string(kName), 1);
  kube::LeaseOptions lease{.ns = OwnNamespace(), .name = std::string(kLeaseName)};
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup&, kube::Client& member) {
    return std::make_unique<Agent>(**hub, member, program.clock(), *options, &observer);
  };
  co_await program.Lead(std::move(lease), std::move(new_term));
  co_return co_await program.Drain();
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return kube::RunProgram(
      {.name = fleet::kName,
       .summary = "Publishes a member cluster on the hub of a fleet and applies what it rolls out.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      api::UserAgent(fleet::kName), fleet::Serve);
}
