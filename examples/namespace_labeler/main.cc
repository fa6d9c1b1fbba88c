// SPDX-License-Identifier: Apache-2.0
// namespace_labeler: adds a label to each Namespace that lacks it.
#include <gflags/gflags.h>

#include <string>

#include "examples/namespace_labeler/namespace_labeler.h"
#include "kube/base/app.h"
#include "kube/cache/informer.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/controller/controller.h"
#include "kube/controller/controller_metrics.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/ops_server.h"

DEFINE_string(kubeconfig, "", "Empty: $KUBECONFIG, the service account, ~/.kube/config.");
DEFINE_string(label, "pod-security.kubernetes.io/warn=baseline", "The label, as KEY=VALUE.");

namespace examples {
namespace {

constexpr char kName[] = "namespace-labeler";

kube::Async<> Serve(kube::App& app) {
  size_t equals = FLAGS_label.find('=');
  if (equals == std::string::npos) co_return kube::Error::Invalid("--label must be KEY=VALUE");
  Label label{FLAGS_label.substr(0, equals), FLAGS_label.substr(equals + 1)};

  // The API server.
  kube::Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  auto client =
      kube::NewClient(app.executor(), app.clock(), std::move(*config), {.user_agent = kName});
  if (!client) co_return client.error();

  // The cache, and the controller that its events feed.
  kube::Metrics metrics;
  kube::ControllerMetrics observer(metrics, app.clock(), kName, /*workers=*/1);
  kube::Informer<kube::core::Namespace> namespaces(**client, app.clock(), {});
  NamespaceLabeler labeler(**client, namespaces, std::move(label));
  kube::Controller controller({.name = kName}, labeler, app.clock(), &observer);
  namespaces.OnChange([&](kube::EventType, const kube::ObjectKey& ns) { controller.Enqueue(ns); });

  // Health and metrics, on --health-address.
  kube::HealthRegistry health;
  health.AddReadiness("cache", [&]() -> kube::Result<void> {
    if (!namespaces.synced()) return kube::Error::Unavailable("not synced");
    return kube::Ok();
  });
  auto ops =
      kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, &metrics);
  if (!ops) co_return ops.error();

  // Run until SIGTERM, then finish the reconciles in flight.
  app.tasks().Spawn("ops-server", (*ops)->Run());
  app.tasks().Spawn("namespace-watch", namespaces.Run());
  app.tasks().Spawn(kName, controller.Run(app.tasks()));
  co_await app.WaitForStop();
  co_await kube::EndTasksAndOpsServer(app, **ops);
  co_return kube::Ok();
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return kube::RunApp({.name = examples::kName,
                       .summary = "Adds a label to each Namespace that lacks it.",
                       .version = "example",
                       .argc = argc,
                       .argv = argv},
                      examples::Serve);
}
