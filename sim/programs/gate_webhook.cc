// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/gate_webhook.h"

#include <utility>

#include "api/names.h"
#include "api/webhook_probe.h"
#include "kube/metrics/metrics.h"
#include "webhook/gate_webhook.h"
#include "webhook/probe.h"

namespace sim {

kube::Async<> RunGateWebhook(Life& life, GateWebhookOptions options) {
  co_await kube::IgnoreCancellation();
  kube::Metrics& metrics = life.metrics();
  webhook::GateWebhook gates({options.shard_namespace, options.operator_namespace}, metrics,
                             life.clock());
  HttpServer server(*options.services, life, options.served_as);
  kube::HttpHandler answer = [&gates](kube::HttpCall call) {
    return AnswerNow(gates.Answer(call));
  };
  if (options.shard_namespace.empty()) {
    server.Handle(api::kClusterGatePath, answer);
    server.Handle(api::kClusterPreferencesPath, answer);
  } else {
    server.Handle(api::kLocalGatePathPrefix, answer);
  }
  server.Handle(api::kWebhookProbePath, [&options](kube::HttpCall call) {
    return AnswerNow(webhook::AnswerProbe(call, options.operator_namespace));
  });
  server.Open(options.certificate_pem);
  co_await life.app().WaitForStop();
  kube::Result<> drained = co_await server.Drain();
  kube::IgnoreError(drained, "calls have a timeout of their own");
  co_return kube::Ok();
}

}  // namespace sim
