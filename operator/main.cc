// SPDX-License-Identifier: Apache-2.0
// operator: runs the operands that the ClusterPodPlacementConfig and the PodPlacementConfigs ask
// for. Every replica serves the webhooks of both kinds, and those of the features (replica.h); the
// replica that holds the Lease does the rest (leader.h).
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/notifier.h"
#include "kube/controller/controller_metrics.h"
#include "kube/program/program.h"
#include "kube/server/metrics_server.h"
#include "operator/certificates/own_certificate.h"
#include "operator/feature.h"
#include "operator/leader.h"
#include "operator/objects/metadata.h"
#include "operator/options.h"
#include "operator/replica.h"
#include "operator/status/operand_metrics.h"
#include "operator/teardown/delete_configs.h"
#include "operator/teardown/own_namespace_teardown.h"
#include "scheduling-policies/operator/policy_feature.h"

DEFINE_bool(
    delete_configs, false,
    "Only deletes all PodPlacementConfigs and the ClusterPodPlacementConfig, and waits until "
    "a running operator has ungated all pods and removed its operands. For a Job before the "
    "operator is uninstalled.");

namespace operator_ {
namespace {

using kube::Async;
using kube::Result;
using namespace std::chrono_literals;

constexpr std::string_view kName = "operator";
// Less than the time that Helm waits for a hook.
constexpr auto kDeleteConfigsWithin = 240s;
// How long reconciles that are in progress may delay the teardown, which has a few seconds in all.
constexpr kube::Duration kStopLeadingWithin = 1s;

// Until the process has to stop. When the operator's namespace is being deleted, it stops leading
// and ungates all pods. Sets `serving` once the webhooks are served. Without an error, all tasks of
// the process have ended when it returns, as some of them use its locals.
Async<> Operate(kube::Program& program, OperatorOptions options, OwnNamespaceTeardown& teardown,
                kube::Notifier& teardown_due, bool& serving) {
  kube::Client& client = program.client();
  kube::Clock& clock = program.clock();
  kube::Metrics& metrics = program.metrics();
  OwnCertificate certificate(client, clock, options.operands.ns, options.cert_dir,
                             options.operands.certificate_validity);
  Result<> prepared = co_await Prepare(program, certificate, teardown, options.operands);
  if (!prepared && !teardown.due()) co_return prepared.error();

  // In every replica: the webhooks.
  Features features;
  features.push_back(NewPolicyFeature(client, clock, options.operands.ns));
  Replica replica(program, certificate, options);
  if (prepared) {
    Result<> served = replica.Serve(features);
    if (!served) co_return served.error();
    serving = true;
  }

  // In one replica: the reconcilers.
  kube::ControllerMetrics shard_metrics(metrics, clock, "shards", kShardWorkers);
  kube::ControllerMetrics cluster_metrics(metrics, clock, "cluster", 1);
  OperandMetrics operand_metrics(metrics, options.operands.ns);
  kube::LeaseOptions lease{.ns = options.operands.ns, .name = std::string(kManagedBy)};
  LeaderOptions leader_options{.operands = std::move(options.operands),
                               .upgrades = {.at_a_time = options.shard_upgrades,
                                            .order_seed = std::to_string(std::random_device()())},
                               .shard_observer = &shard_metrics,
                               .cluster_observer = &cluster_metrics,
                               .operand_metrics = &operand_metrics};
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup&) {
    return std::make_unique<Leader>(client, clock, leader_options, certificate, features);
  };
  if (!teardown.due())
    program.work().Spawn("leadership", program.Lead(std::move(lease), std::move(new_term)));
  while (!program.app().stopping() && !teardown.due()) {
    Result<> waited = co_await teardown_due.Wait();
    kube::IgnoreError(waited, "the loop asks whether the program stops");
  }
  if (teardown.due()) {
    Result<> stopped = co_await program.work().Stop(clock, kStopLeadingWithin);
    LOG_IF(WARNING, !stopped) << stopped.error();
    Result<> torn_down = co_await teardown.Run();
    LOG_IF(WARNING, !torn_down) << "teardown: " << torn_down.error();
    co_await program.app().WaitForStop();
  }
  co_return co_await program.Drain();
}

Async<> Serve(kube::Program& program) {
  Result<> done = kube::Ok();
  if (FLAGS_delete_configs) {
    done = program.Connect();
    if (!done) co_return done;
    kube::TimePoint deadline = program.clock().Now() + kDeleteConfigsWithin;
    co_return co_await DeleteConfigs(program.client(), program.clock(), deadline);
  }
  Result<OperatorOptions> options = OptionsFromFlags();
  if (!options) co_return options.error();

  // Health and metrics start first and stop last, so the kubelet always gets an answer.
  bool serving = false;
  program.health().AddReadiness("webhooks", [&serving]() -> Result<> {
    return serving ? kube::Ok() : Result<>(kube::Error::Unavailable("no certificate yet"));
  });
  done = program.Connect();
  if (done) done = program.StartOps(kube::PublicMetrics(program.metrics()));
  if (!done) co_return done;

  kube::Notifier teardown_due;
  OwnNamespaceTeardown teardown(program.client(), program.clock(), options->operands.ns);
  teardown.OnDue([&teardown_due] { teardown_due.NotifyAll(); });
  program.tasks().Spawn("own-namespace", teardown.Watch());
  Result<> operated =
      co_await Operate(program, std::move(*options), teardown, teardown_due, serving);
  if (!operated) done = co_await program.Drain();
  co_return operated;
}

}  // namespace
}  // namespace operator_

int main(int argc, char** argv) {
  return kube::RunProgram(
      {operator_::kName,
       "Runs the operands for the ClusterPodPlacementConfig and the PodPlacementConfigs.",
       api::kVersion, argc, argv},
      api::UserAgent(operator_::kName), operator_::Serve);
}
