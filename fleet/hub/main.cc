// SPDX-License-Identifier: Apache-2.0
// hub: turns Placements into PlacementDecisions, beside OCM's placement controller or instead of
// it, and rolls FleetPodPlacements out. The replica that holds the Lease works (leader.h).
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/user_agent.h"
#include "api/version.h"
#include "fleet/cel/evaluator.h"
#include "fleet/hub/current_answers.h"
#include "fleet/hub/debug_server.h"
#include "fleet/hub/leader.h"
#include "fleet/hub/leader_metrics.h"
#include "fleet/hub/options.h"
#include "fleet/rollout/controller/rollouts.h"
#include "fleet/standalone/membership/membership.h"
#include "kube/base/app.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/program/program.h"
#include "kube/program/protected_metrics.h"
#include "kube/server/metrics_server.h"

namespace fleet {
namespace {

constexpr std::string_view kName = "fleet-hub";

kube::Async<> Serve(kube::Program& program) {
  HubOptions options = OptionsFromFlags();
  kube::Result<> done = program.Connect();
  if (done) done = program.StartOps(kube::PublicMetrics(program.metrics()));
  if (done) done = kube::AddMetricsServer(program);
  if (!done) co_return done;
  kube::Client& client = program.client();
  kube::Clock& clock = program.clock();
  kube::Metrics& metrics = program.metrics();

  // Events, and answers about Placements.
  Leader* leader = nullptr;
  kube::EventMetrics event_metrics(metrics, "mto_fleet_");
  kube::EventRecorder events(client, clock,
                             {.component = std::string(kName),
                              .busy = [&leader] { return leader != nullptr && leader->busy(); },
                              .observer = &event_metrics});
  CurrentAnswers answers(leader);
  auto debug = DebugServer::New(program.executor(), clock, client, answers, options.debug);
  if (!debug) co_return debug.error();
  program.AddServer("debug-server", std::move(*debug));
  program.tasks().Spawn("events", events.Run());

  // Work, while this replica holds the Lease.
  int workers = options.leader.workers;
  kube::ControllerMetrics controller_metrics(metrics, clock, kPlacementController, workers);
  kube::ControllerMetrics rollout_metrics(metrics, clock, kRolloutController, workers);
  AddStoreMetrics(metrics, leader);
  std::optional<kube::ControllerMetrics> membership_metrics;
  std::optional<kube::ControllerMetrics> set_metrics;
  if (std::optional<MembershipOptions>& own = options.leader.membership) {
    own->clusters =
        &membership_metrics.emplace(metrics, clock, kMembershipController, own->workers);
    own->sets = &set_metrics.emplace(metrics, clock, kClusterSetController, 1);
    AddMembershipMetrics(metrics, leader);
  }
  cel::Evaluator evaluator(program.executor(), clock, std::move(options.evaluator));
  kube::LeaseOptions lease{.ns = options.ns, .name = "multiarch-fleet-hub"};
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup& tasks, kube::Client& term_client) {
    LeaderParts parts{leader,    term_client,         clock,           events,
                      evaluator, &controller_metrics, &rollout_metrics};
    return std::make_unique<Leader>(parts, options.leader, tasks);
  };
  co_await program.Lead(std::move(lease), std::move(new_term));
  co_return co_await program.Drain();
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return kube::RunProgram(
      {.name = fleet::kName,
       .summary = "Turns Placements into PlacementDecisions, rolls FleetPodPlacements out.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      api::UserAgent(fleet::kName), fleet::Serve);
}
