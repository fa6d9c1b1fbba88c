// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/serve.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <utility>

#include "cluster-controller/inspection_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pod_inspector.h"
#include "ephemeral-containers/webhook/path_watch.h"
#include "ephemeral-containers/webhook/warning_webhook.h"
#include "kube/program/protected_metrics.h"
#include "kube/server/https_server.h"
#include "kube/server/metrics_server.h"
#include "webhook/server.h"

DEFINE_bool(ephemeral_container_warnings, false,
            "Place no pods, but serve the webhook that warns of ephemeral containers whose images "
            "are not for their node.");

namespace ephemeral {

bool WarningsWanted() { return FLAGS_ephemeral_container_warnings; }

kube::Async<> ServeWarnings(kube::Program& program, cluster_controller::ImageAccessOptions images) {
  kube::Result<> done = program.Connect();
  if (done) done = program.StartOps(kube::PublicMetrics(program.metrics()));
  if (done) done = kube::AddMetricsServer(program);
  if (!done) co_return done;
  // It has no right to watch the global pull secret, and reads it for each review.
  images.watch_global_secret = false;
  images.inspection_timeout = kInspectWithin;
  images.credentials_timeout = kInspectWithin;
  images.secret_read_timeout = kSecretReadTimeout;
  PathWatch path(program.client(), program.clock(), images.ns);
  cluster_controller::ImageAccess access(program.executor(), program.client(), program.clock(),
                                         std::move(images));
  cluster_controller::InspectionMetrics metrics(program.metrics());
  cluster_controller::InspectionQueue queue(access.images(), program.clock(), program.tasks(),
                                            metrics);
  cluster_controller::PodInspectorOptions inspector_options{.readers = kSecretReaders};
  cluster_controller::PodInspector inspector(queue, access.secrets(), metrics, program.clock(),
                                             inspector_options);
  WarningWebhook webhook(queue, inspector, program.executor(), program.client(), program.clock(),
                         program.tasks(), program.metrics());
  program.health().AddReadiness("configuration", [&access]() -> kube::Result<> {
    if (access.synced()) return kube::Ok();
    return kube::Error::Unavailable("the configuration of registries is being read");
  });
  // Until then the server would refuse the API server's calls.
  program.health().AddReadiness("path", [&path]() -> kube::Result<> {
    if (path.known()) return kube::Ok();
    return kube::Error::Unavailable("the Secret " + std::string(kWebhookName) + " has no token");
  });
  auto made = ::webhook::NewServer(program);
  if (!made) co_return made.error();
  webhook.AddTo(**made, path);
  kube::HttpsServer& server = program.AddServer("webhook", std::move(*made));
  access.Start(program.tasks());
  path.Start(program.tasks());
  LOG(INFO) << "warns of ephemeral containers, on port " << server.port() << "; health on port "
            << program.ops_port();

  co_await program.app().WaitForStop();
  done = co_await ::webhook::Retire(program, server);
  if (!done) co_return done;
  co_return co_await program.Drain();
}

}  // namespace ephemeral
