// SPDX-License-Identifier: Apache-2.0
// cluster-controller: the cluster controller. Requires the architectures that the images of a gated
// pod run on, and removes the cluster gate. The replica that holds the Lease works (see leader.h).
// With --ephemeral-container-warnings it places no pods: it is a webhook (ephemeral-containers/).
#include <gflags/gflags.h>

#include <chrono>
#include <memory>
#include <string>

#include "api/excluded_namespaces.h"
#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "cluster-controller/ability.h"
#include "cluster-controller/image_access.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/leader.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/shard_watch.h"
#include "ephemeral-containers/webhook/serve.h"
#include "exec-format/handler/handler_feature.h"
#include "exec-format/handler/handler_metrics.h"
#include "exec-format/learning/learning_metrics.h"
#include "image-facts/controller/fact_keeper.h"
#include "image-facts/controller/fact_metrics.h"
#include "inspection/cloud/cloud_identity.h"
#include "inspection/cloud/cloud_registry.h"
#include "inspection/config/node_file_flags.h"
#include "kube/base/app.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/program/program.h"
#include "kube/program/protected_metrics.h"
#include "kube/server/metrics_server.h"
#include "scheduling-policies/cluster-controller/missed_policies.h"
#include "templates/template_feature.h"
#include "templates/template_metrics.h"
#include "writes/pod_events.h"

DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace, with the Lease and the objects that the "
              "ClusterPodPlacementConfig names.");
DEFINE_int32(workers, 16, "Pods that are reconciled at a time; none of them waits for a registry.");
DEFINE_string(excluded_namespaces, "",
              "Namespaces whose pods are placed only if the namespace has the label "
              "multiarch.openshift.io/include-pod-placement, as PREFIX*, comma separated.");

DEFINE_bool(service_account_tokens, false,
            "Whether credential providers with tokenAttributes get tokens of the pods' service "
            "accounts. Needs the right to create them.");
DEFINE_string(cloud_registries, "",
              "Registries of ECR, Artifact Registry or ACR that are read with this program's own "
              "identity in that cloud, as patterns of hosts, comma separated.");

namespace cluster_controller {
namespace {

constexpr std::string_view kName = "cluster-controller";

kube::Async<> Place(kube::Program& program, ImageAccessOptions images) {
  auto excluded = api::ExcludedNamespaces::Parse(FLAGS_excluded_namespaces);
  if (!excluded) co_return excluded.error().Prefix("--excluded-namespaces");
  kube::Result<> done = program.Connect();
  if (!done) co_return done;
  kube::Client& client = program.client();
  kube::Clock& clock = program.clock();
  Ability ability(client, clock, FLAGS_namespace);
  program.health().AddReadiness("work", [&ability] { return ability.Ready(); });
  done = program.StartOps(kube::PublicMetrics(program.metrics()));
  if (done) done = kube::AddMetricsServer(program);
  if (!done) co_return done;
  kube::Metrics& metrics = program.metrics();

  Leader* leader = nullptr;
  kube::EventMetrics event_metrics(metrics, "mto_ppo_ctrl_");
  writes::PodEvents pod_events;
  kube::EventRecorder events(client, clock,
                             {.component = std::string(api::kEventComponent),
                              .wanted = pod_events.Wanted(),
                              .busy = [&leader] { return leader != nullptr && leader->busy(); },
                              .observer = &event_metrics});
  program.tasks().Spawn("events", events.Run());
  program.tasks().Spawn("pod-events", pod_events.Follow(clock));
  program.tasks().Spawn("rights", ability.Run());

  // Work, while this replica holds the Lease.
  PlacementMetrics placement_metrics(metrics);
  kube::ControllerMetrics controller_metrics(metrics, clock, kController, FLAGS_workers);
  KnownPods known(clock);
  kube::Gauge& oldest = metrics.AddGauge("mto_ppo_oldest_gated_pod_seconds",
                                         "Time since the longest gated pod was first observed");
  metrics.OnRender([&] { oldest.Set(std::chrono::duration<double>(known.OldestAge()).count()); });
  ShardWatch shards(clock);
  LeaderOptions options{.ns = FLAGS_namespace,
                        .workers = FLAGS_workers,
                        .excluded_namespaces = std::move(*excluded),
                        .files = std::move(images.files),
                        .cloud = std::move(images.cloud)};
  options.files.service_account_tokens = FLAGS_service_account_tokens;
  // Features that add to pods.
  options.additions.push_back([&client, &clock] {
    return std::make_unique<policy::MissedPolicies>(client, clock, FLAGS_namespace);
  });
  // The plugins templates and daemonSets.
  templates::TemplateMetrics template_metrics(metrics);
  kube::ControllerMetrics template_controller(metrics, clock, templates::kController,
                                              templates::kWorkers);
  options.features.push_back([&template_metrics, &template_controller](const TermParts& term) {
    return std::make_unique<templates::TemplateFeature>(term, template_metrics,
                                                        &template_controller);
  });
  // The plugins execFormatErrorMonitor and imageFindings.
  exec_format::HandlerMetrics exec_metrics(metrics);
  exec_format::LearningMetrics learning_metrics(metrics);
  kube::ControllerMetrics exec_controller(metrics, clock, exec_format::kController,
                                          exec_format::kWorkers);
  options.features.push_back([&exec_metrics, &learning_metrics,
                              &exec_controller](const TermParts& term) {
    return exec_format::NewHandlerFeature(term, exec_metrics, learning_metrics, &exec_controller);
  });
  // What is known of images.
  image_facts::FactMetrics fact_metrics(metrics);
  options.features.push_back([&fact_metrics](const TermParts& term) {
    return image_facts::NewFactKeeper(term, fact_metrics);
  });
  kube::LeaseOptions lease{.ns = FLAGS_namespace, .name = std::string(api::kControllerName)};
  lease.able = [&ability] { return ability.Able(); };
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup& tasks, kube::Client& term_client) {
    LeaderParts parts{leader,  program.executor(), term_client,       clock, events, known, shards,
                      ability, placement_metrics,  controller_metrics};
    return std::make_unique<Leader>(std::move(parts), options, tasks);
  };
  co_await program.Lead(std::move(lease), std::move(new_term));
  co_return co_await program.Drain();
}

kube::Async<> Serve(kube::Program& program) {
  auto cloud_registries = inspection::CloudRegistries::Parse(FLAGS_cloud_registries);
  if (!cloud_registries) co_return cloud_registries.error().Prefix("--cloud-registries");
  ImageAccessOptions images{.ns = FLAGS_namespace,
                            .files = inspection::NodeFilesFromFlags(),
                            .cloud = {.registries = std::move(*cloud_registries),
                                      .identity = inspection::CloudIdentity::FromEnvironment()}};
  // The plugin ephemeralContainerWarnings.
  if (ephemeral::WarningsWanted())
    co_return co_await ephemeral::ServeWarnings(program, std::move(images));
  co_return co_await Place(program, std::move(images));
}

}  // namespace
}  // namespace cluster_controller

int main(int argc, char** argv) {
  return kube::RunProgram(
      {.name = cluster_controller::kName,
       .summary = "Requires the architectures that a pod's images run on, and removes the gate.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      api::UserAgent(cluster_controller::kName), cluster_controller::Serve);
}
