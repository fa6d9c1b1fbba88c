// SPDX-License-Identifier: Apache-2.0
#include "operator/replica.h"

#include <glog/logging.h>

#include <chrono>
#include <memory>
#include <utility>

#include "kube/client/typed.h"
#include "kube/program/protected_metrics.h"
#include "kube/server/certificate_metric.h"
#include "kube/server/https_server.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr auto kRetryEvery = 2s;

}  // namespace

Async<> Prepare(kube::Program& program, OwnCertificate& certificate,
                const OwnNamespaceTeardown& teardown, OperandOptions& operands) {
  while (true) {
    kube::ObjectKey key{"", operands.ns};
    Result<kube::Unstructured> ns =
        co_await kube::GetObject(program.client(), kube::kNamespaces, key);
    Result<> ready = Ok();
    if (ns) {
      operands.ns_uid = ns->metadata().uid();
      ready = co_await certificate.Refresh();
    } else {
      ready = ns.error().Prefix("read namespace " + operands.ns);
    }
    if (ready) co_return Ok();
    if (teardown.due())
      co_return Error::Cancelled("namespace " + operands.ns + " is being deleted");
    LOG(WARNING) << "cannot start yet: " << ready.error();
    Result<> slept = co_await program.clock().Sleep(kRetryEvery);
    if (!slept) co_return slept.error();
  }
}

Replica::Replica(kube::Program& program, OwnCertificate& certificate,
                 const OperatorOptions& options)
    : program_(program),
      certificate_(certificate),
      address_(options.address),
      announcer_(program.client(), program.clock(), program.tasks(),
                 {.owner = OwnNamespace(options.operands)},
                 program.metrics().AddCounter(
                     "mto_ppo_announcements_failed_total",
                     "The writes of announcements of PodPlacementConfigs that failed")),
      webhooks_(program.client(), program.clock(), announcer_) {}

Result<> Replica::Serve(const Features& features) {
  kube::HttpsServerOptions options{.address = address_,
                                   .certificate_file = certificate_.certificate_file(),
                                   .key_file = certificate_.key_file()};
  auto server = kube::HttpsServer::New(program_.executor(), program_.clock(), std::move(options));
  if (!server) return server.error().Prefix("--address");
  webhooks_.AddTo(**server);
  for (const std::unique_ptr<Feature>& feature : features) feature->AddTo(**server);
  kube::AddCertificateMetric(program_.metrics(), "mto_ppo_certificate_end_timestamp_seconds",
                             **server);
  Result<> metrics = kube::AddMetricsServer(program_);
  if (!metrics) return metrics.error();
  program_.tasks().Spawn("certificate", certificate_.Run());
  program_.AddServer("webhooks", std::move(*server));
  return Ok();
}

}  // namespace operator_
