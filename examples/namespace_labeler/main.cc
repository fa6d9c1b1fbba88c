// SPDX-License-Identifier: Apache-2.0
// namespace_labeler: adds a label to each Namespace that lacks it.
#include <gflags/gflags.h>

#include <string>

#include "examples/namespace_labeler/namespace_labeler.h"
#include "kube/base/app.h"
#include "kube/cache/informer.h"
#include "kube/controller/controller.h"
#include "kube/controller/controller_metrics.h"
#include "kube/program/program.h"

DEFINE_string(label, "pod-security.kubernetes.io/warn=baseline", "The label, as KEY=VALUE.");

namespace examples {
namespace {

constexpr char kName[] = "namespace-labeler";

kube::Async<> Serve(kube::Program& program) {
  size_t equals = FLAGS_label.find('=');
  if (equals == std::string::npos) co_return kube::Error::Invalid("--label must be KEY=VALUE");
  Label label{FLAGS_label.substr(0, equals), FLAGS_label.substr(equals + 1)};
  kube::Result<> connected = program.Connect();
  if (!connected) co_return connected.error();

  // The cache, and the controller that its events feed.
  kube::ControllerMetrics observer(program.metrics(), program.clock(), kName, /*workers=*/1);
  kube::Informer<kube::core::Namespace> namespaces(program.client(), program.clock(), {});
  NamespaceLabeler labeler(program.client(), namespaces, std::move(label));
  kube::Controller controller({.name = kName}, labeler, program.clock(), &observer);
  namespaces.OnChange([&](kube::EventType, const kube::ObjectKey& ns) { controller.Enqueue(ns); });

  // Health and metrics, on --health-address.
  program.health().AddReadiness("cache", [&]() -> kube::Result<void> {
    if (!namespaces.synced()) return kube::Error::Unavailable("not synced");
    return kube::Ok();
  });
  kube::Result<> started = program.StartOps(&program.metrics());
  if (!started) co_return started.error();

  // Run until SIGTERM, then finish the reconciles in flight.
  program.tasks().Spawn("namespace-watch", namespaces.Run());
  program.tasks().Spawn(kName, controller.Run(program.tasks()));
  co_await program.app().WaitForStop();
  co_return co_await program.Drain();
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return kube::RunProgram({.name = examples::kName,
                           .summary = "Adds a label to each Namespace that lacks it.",
                           .version = "example",
                           .argc = argc,
                           .argv = argv},
                          examples::kName, examples::Serve);
}
