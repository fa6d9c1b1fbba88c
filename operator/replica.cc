// SPDX-License-Identifier: Apache-2.0
#include "operator/replica.h"

#include <glog/logging.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "kube/base/app.h"
#include "kube/base/random.h"
#include "kube/client/typed.h"
#include "kube/controller/leadership.h"
#include "kube/program/protected_metrics.h"
#include "kube/server/certificate_metric.h"
#include "kube/server/https_server.h"
#include "kube/types/kinds.h"
#include "operator/leader.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr auto kRetryEvery = 2s;
// How long reconciles that are in progress may delay the teardown, which has a few seconds in all.
constexpr kube::Duration kStopLeadingWithin = 1s;

}  // namespace

Replica::Replica(kube::Program& program, OperatorOptions options, const Features& features,
                 NewKnownImages new_known_images)
    : program_(program),
      options_(std::move(options)),
      features_(features),
      new_known_images_(std::move(new_known_images)),
      teardown_(program.client(), program.clock(), options_.operands.ns),
      certificate_(program.client(), program.clock(), options_.operands.ns, options_.cert_dir,
                   options_.operands.certificate_validity),
      shard_metrics_(program.metrics(), program.clock(), "shards", kShardWorkers),
      cluster_metrics_(program.metrics(), program.clock(), "cluster", 1),
      operand_metrics_(program.metrics(), options_.operands.ns) {
  teardown_.OnDue([this] { teardown_due_.NotifyAll(); });
  program_.health().AddReadiness("webhooks", [this]() -> Result<> {
    return serving_ ? Ok() : Result<>(Error::Unavailable("no certificate yet"));
  });
}

Async<> Replica::Run() {
  program_.tasks().Spawn("own-namespace", teardown_.Watch());
  Result<> operated = co_await Operate();
  Result<> drained = co_await program_.Drain();
  co_return operated ? drained : operated;
}

Async<> Replica::Operate() {
  Result<> prepared = co_await Prepare();
  if (!prepared && !teardown_.due()) co_return prepared.error();
  if (prepared) {
    Result<> served = Serve();
    if (!served) co_return served.error();
  }
  if (!teardown_.due()) program_.work().Spawn("leadership", Lead());
  while (!program_.app().stopping() && !teardown_.due()) {
    Result<> waited = co_await teardown_due_.Wait();
    kube::IgnoreError(waited, "the loop asks whether the program stops");
  }
  if (!teardown_.due()) {
    // The watch may be behind, and this process may end because its namespace is deleted.
    co_await kube::ForgetCancellation();
    co_await teardown_.Ask();
  }
  if (!teardown_.due()) co_return Ok();

  Result<> stopped = co_await program_.work().Stop(program_.clock(), kStopLeadingWithin);
  LOG_IF(WARNING, !stopped) << stopped.error();
  Result<> torn_down = co_await teardown_.Run(/*last=*/program_.app().stopping());
  LOG_IF(WARNING, !torn_down) << "teardown: " << torn_down.error();
  co_await program_.app().WaitForStop();
  co_return Ok();
}

Async<> Replica::Prepare() {
  const std::string& ns = options_.operands.ns;
  while (true) {
    kube::ObjectKey key{"", ns};
    Result<kube::Unstructured> own =
        co_await kube::GetObject(program_.client(), kube::kNamespaces, key);
    Result<> ready = Ok();
    if (own) {
      options_.operands.ns_uid = own->metadata().uid();
      ready = co_await certificate_.Refresh();
    } else {
      ready = own.error().Prefix("read namespace " + ns);
    }
    if (ready) co_return Ok();
    if (teardown_.due()) co_return Error::Cancelled("namespace " + ns + " is being deleted");
    LOG(WARNING) << "cannot start yet: " << ready.error();
    Result<> slept = co_await program_.clock().Sleep(kRetryEvery);
    if (!slept) co_return slept.error();
  }
}

Result<> Replica::Serve() {
  kube::HttpsServerOptions options{.address = options_.address,
                                   .certificate_file = certificate_.certificate_file(),
                                   .key_file = certificate_.key_file()};
  auto server = kube::HttpsServer::New(program_.executor(), program_.clock(), std::move(options));
  if (!server) return server.error().Prefix("--address");
  announcer_ = std::make_unique<Announcer>(
      program_.client(), program_.clock(), program_.tasks(),
      AnnouncerOptions{.owner = OwnNamespace(options_.operands)},
      program_.metrics().AddCounter(
          "mto_ppo_announcements_failed_total",
          "The writes of announcements of PodPlacementConfigs that failed"));
  webhooks_ = std::make_unique<ConfigWebhooks>(program_.client(), program_.clock(), *announcer_);
  webhooks_->AddTo(**server);
  for (const std::unique_ptr<Feature>& feature : features_) feature->AddTo(**server);
  Result<> metrics = kube::AddMetricsServer(program_);
  if (!metrics) return metrics.error();
  program_.tasks().Spawn("certificate", certificate_.Run());
  kube::HttpsServer& added = program_.AddServer("webhooks", std::move(*server));
  kube::AddCertificateMetric(program_.metrics(), "mto_ppo_certificate_end_timestamp_seconds",
                             added);
  serving_ = true;
  return Ok();
}

boost::asio::awaitable<void> Replica::Lead() {
  LeaderOptions options{.operands = options_.operands,
                        .upgrades = {.at_a_time = options_.shard_upgrades,
                                     .order_seed = std::to_string(kube::RandomSeed())},
                        .new_known_images = new_known_images_,
                        .shard_observer = &shard_metrics_,
                        .cluster_observer = &cluster_metrics_,
                        .operand_metrics = &operand_metrics_};
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup&, kube::Client& client) {
    return std::make_unique<Leader>(client, program_.clock(), options, certificate_, features_);
  };
  kube::LeaseOptions lease{.ns = options_.operands.ns, .name = std::string(kManagedBy)};
  co_await program_.Lead(std::move(lease), std::move(new_term));
}

}  // namespace operator_
