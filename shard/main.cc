// SPDX-License-Identifier: Apache-2.0
// shard: the controller of one namespace. Adds the preferences of the namespace's
// PodPlacementConfigs to gated pods and drops their local gate. The replica that holds the Lease
// takes pods at once (see namespace_controller.h).
#include <string>
#include <utility>

#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/program/program.h"
#include "shard/namespace_controller.h"
#include "shard/options.h"

namespace shard {
namespace {

constexpr std::string_view kName = "shard";

kube::Async<> Serve(kube::Program& program) {
  kube::Result<Options> options = OptionsFromFlags();
  if (!options) co_return options.error();
  kube::Result<> connected = program.Connect();
  if (!connected) co_return connected.error();

  NamespaceController controller(program.client(), program.clock(), program.metrics(), options->ns);
  program.health().AddReadiness("work", [&controller] { return controller.Able(); });
  kube::Result<> started = program.StartOps(&program.metrics());
  if (!started) co_return started.error();

  // A replica that cannot work gives up the Lease, because the Lease shows the operator which
  // shards are available.
  controller.Start(program.tasks(), program.work());
  if (options->leader_elect) {
    options->lease.busy = [&controller] { return controller.Busy(); };
    options->lease.able = [&controller] { return controller.Able(); };
    // All replicas write (namespace_controller.h): the Lease, which owners of the namespace may
    // write, does not stop them.
    kube::Leadership::NewTerm new_term = [&controller](kube::TaskGroup&, kube::Client&) {
      return controller.NewTerm();
    };
    co_await program.Lead(std::move(options->lease), std::move(new_term));
  } else {
    controller.SetLeading(true);
    co_await program.app().WaitForStop();
  }
  co_return co_await program.Drain();
}

}  // namespace
}  // namespace shard

int main(int argc, char** argv) {
  return kube::RunProgram(
      {.name = shard::kName,
       .summary = "Adds the preferences of PodPlacementConfigs to the pods of one namespace.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      api::UserAgent(shard::kName), shard::Serve);
}
