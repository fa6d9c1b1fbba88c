// SPDX-License-Identifier: Apache-2.0
// shard: the controller of one namespace. Adds the preferences of the namespace's
// PodPlacementConfigs to gated pods and drops their local gate. The replica that holds the Lease
// takes pods at once (see namespace_controller.h).
#include <gflags/gflags.h>

#include <memory>
#include <optional>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/task_group.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/ops_server.h"
#include "kube/types/meta.pb.h"
#include "shard/namespace_controller.h"

DEFINE_string(namespace, "", "The namespace to serve; also the namespace of the Lease. Required.");
DEFINE_string(
    kubeconfig, "",
    "How to reach the API server; by default $KUBECONFIG, then the pod's service account.");
DEFINE_string(
    lease_owner, "",
    "The operator's namespace as NAME/UID; the Lease is deleted with it. Empty: no owner.");
DEFINE_bool(leader_elect, true, "Take pods at once only while holding the Lease.");

namespace shard {
namespace {

using kube::App;
using kube::Async;
using kube::Ok;
using kube::Result;

constexpr std::string_view kName = "shard";

// A cluster may have a thousand shards: at rest, their Leases cost the API server 25 writes per
// second. The controllers that look at a Lease do so only when a pod waits, and then the shard
// renews it every two seconds. A replica that waits for this Lease takes pods without it after 20
// s.
constexpr std::chrono::seconds kLeaseDuration{60};
constexpr std::chrono::seconds kRenewDeadline{50};
constexpr std::chrono::seconds kRenewEvery{40};

Result<void> CheckFlags() {
  constexpr size_t kMaxLength = 63;
  bool plain = FLAGS_namespace.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
               std::string::npos;
  if (!plain || FLAGS_namespace.empty() || FLAGS_namespace.size() > kMaxLength) {
    return kube::Error::Invalid("--namespace must name the namespace to serve");
  }
  if (!FLAGS_lease_owner.empty() && FLAGS_lease_owner.find('/') == std::string::npos) {
    return kube::Error::Invalid("--lease-owner must be NAME/UID");
  }
  return Ok();
}

std::optional<kube::meta::OwnerReference> LeaseOwner() {
  if (FLAGS_lease_owner.empty()) return std::nullopt;
  size_t slash = FLAGS_lease_owner.find('/');
  kube::meta::OwnerReference owner;
  owner.set_api_version("v1");
  owner.set_kind("Namespace");
  owner.set_name(FLAGS_lease_owner.substr(0, slash));
  owner.set_uid(FLAGS_lease_owner.substr(slash + 1));
  return owner;
}

Async<> Serve(App& app) {
  if (Result<void> flags = CheckFlags(); !flags) co_return flags.error();

  // The API server.
  kube::Metrics metrics;
  kube::ClientMetrics client_metrics(metrics);
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  auto client = kube::NewClient(app.executor(), app.clock(), std::move(*config),
                                {.user_agent = api::UserAgent(kName), .observer = &client_metrics});
  if (!client) co_return client.error();

  // Health and metrics.
  NamespaceController controller(**client, app.clock(), metrics, FLAGS_namespace);
  kube::HealthRegistry health;
  health.AddReadiness("work", [&controller] { return controller.Able(); });
  auto ops =
      kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, &metrics);
  if (!ops) co_return ops.error();
  app.tasks().Spawn("ops-server", (*ops)->Run());

  // Work. A replica that cannot work gives up the Lease, because the Lease shows the operator which
  // shards are available.
  kube::TaskGroup workers(app.executor());
  controller.Start(app.tasks(), workers);
  if (FLAGS_leader_elect) {
    kube::Leadership leadership(
        app, **client,
        {.ns = FLAGS_namespace,
         .name = std::string(api::kShardControllerName),
         .duration = kLeaseDuration,
         .renew_deadline = kRenewDeadline,
         .renew_every = kRenewEvery,
         .busy = [&controller] { return controller.Busy(); },
         .owner = LeaseOwner(),
         .on_change = kube::LeaderMetric(metrics, std::string(api::kShardControllerName)),
         .able = [&controller] { return controller.Able(); }});
    kube::Leadership::NewTerm new_term = [&controller](kube::TaskGroup&) {
      return controller.NewTerm();
    };
    co_await leadership.Run(std::move(new_term));
  } else {
    controller.SetLeading(true);
    co_await app.WaitForStop();
  }

  // Drain: the workers finish, then their events are sent.
  Result<> ended = co_await app.EndTasks(workers);
  kube::IgnoreError(ended, "all tasks have ended in any case");
  co_await kube::EndTasksAndOpsServer(app, **ops);
  co_return Ok();
}

}  // namespace
}  // namespace shard

int main(int argc, char** argv) {
  return kube::RunApp(
      {.name = shard::kName,
       .summary = "Adds the preferences of PodPlacementConfigs to the pods of one namespace.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      shard::Serve);
}
