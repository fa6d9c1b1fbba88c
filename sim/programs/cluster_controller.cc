// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/cluster_controller.h"

#include <memory>
#include <utility>

#include "api/names.h"
#include "cluster-controller/ability.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/leader.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/shard_watch.h"
#include "image-facts/controller/fact_keeper.h"
#include "image-facts/controller/fact_metrics.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "scheduling-policies/cluster-controller/missed_policies.h"
#include "templates/template_feature.h"
#include "templates/template_metrics.h"

namespace sim {

namespace cc = cluster_controller;

kube::Async<> RunClusterController(Life& life, ClusterControllerOptions options) {
  co_await kube::IgnoreCancellation();
  kube::App& app = life.app();
  kube::Client& client = life.client();
  kube::Clock& clock = life.clock();
  kube::Metrics& metrics = life.metrics();
  cc::Leader* leader = nullptr;
  kube::EventMetrics event_metrics(metrics, "mto_ppo_ctrl_");
  kube::EventRecorder events(client, clock,
                             {.component = std::string(api::kEventComponent),
                              .busy = [&leader] { return leader != nullptr && leader->busy(); },
                              .observer = &event_metrics});
  app.tasks().Spawn("events", events.Run());

  cc::LeaderOptions term_options{.ns = options.ns};
  cc::PlacementMetrics placement_metrics(metrics);
  kube::ControllerMetrics controller_metrics(metrics, clock, cc::kController, term_options.workers);
  cc::KnownPods known(clock);
  cc::ShardWatch shards(clock);
  cc::Ability ability(client, clock, options.ns);
  app.tasks().Spawn("rights", ability.Run());
  term_options.new_inspector = [registries = options.registries](kube::Executor, kube::Clock& by,
                                                                 inspection::InspectorOptions) {
    return registries->NewInspector(by);
  };
  term_options.additions.push_back([&client, &clock, ns = options.ns] {
    return std::make_unique<policy::MissedPolicies>(client, clock, ns);
  });
  templates::TemplateMetrics template_metrics(metrics);
  kube::ControllerMetrics template_controller(metrics, clock, templates::kController,
                                              templates::kWorkers);
  term_options.features.push_back([&](const cc::TermParts& term) {
    return std::make_unique<templates::TemplateFeature>(term, template_metrics,
                                                        &template_controller);
  });
  image_facts::FactMetrics fact_metrics(metrics);
  term_options.features.push_back([&fact_metrics](const cc::TermParts& term) {
    return image_facts::NewFactKeeper(term, fact_metrics);
  });
  kube::LeaseOptions lease{
      .ns = options.ns, .name = std::string(api::kControllerName), .identity = options.pod_name};
  lease.able = [&ability] { return ability.Able(); };
  kube::Leadership leadership(app, client, std::move(lease));
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup& tasks, kube::Client& term_client) {
    cc::LeaderParts parts{
        leader,  app.executor(),    term_client,       clock, events, known, shards,
        ability, placement_metrics, controller_metrics};
    return std::make_unique<cc::Leader>(std::move(parts), term_options, tasks);
  };
  co_await leadership.Run(std::move(new_term));
  kube::Result<> ended = co_await app.EndTasks(app.tasks());
  kube::IgnoreError(ended, "all tasks have ended in any case");
  co_return kube::Ok();
}

}  // namespace sim
