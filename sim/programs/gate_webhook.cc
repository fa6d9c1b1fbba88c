// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/gate_webhook.h"

#include <optional>
#include <utility>

#include "api/known_images.h"
#include "api/names.h"
#include "api/webhook_probe.h"
#include "image-facts/webhook/known_images.h"
#include "image-facts/webhook/known_images_metrics.h"
#include "kube/metrics/metrics.h"
#include "webhook/gate_webhook.h"
#include "webhook/probe.h"

namespace sim {

kube::Async<> RunGateWebhook(Life& life, GateWebhookOptions options) {
  co_await kube::IgnoreCancellation();
  kube::Metrics& metrics = life.metrics();
  std::optional<image_facts::KnownImagesMetrics> known_metrics;
  std::optional<image_facts::KnownImages> known;
  if (options.known_images) {
    known_metrics.emplace(metrics);
    known.emplace(life.client(), life.clock(), options.operator_namespace, *known_metrics);
    known->Start(life.app().tasks());
  }
  webhook::GateWebhook gates(
      {options.shard_namespace, options.operator_namespace, known ? &*known : nullptr}, metrics,
      life.clock());
  HttpServer server(*options.services, life, options.served_as);
  kube::HttpHandler answer = [&gates](kube::HttpCall call) {
    return AnswerNow(gates.Answer(call));
  };
  if (options.shard_namespace.empty()) {
    server.Handle(api::kClusterGatePath, answer);
    server.Handle(api::kClusterPreferencesPath, answer);
    server.Handle(api::kPlacePath, answer);
    server.Handle(api::kPlaceWithPreferencesPath, answer);
    server.Handle(api::kPlaceBehindLocalGatePath, answer);
  } else {
    server.Handle(api::kLocalGatePathPrefix, answer);
  }
  server.Handle(api::kWebhookProbePath, [&options](kube::HttpCall call) {
    return AnswerNow(webhook::AnswerProbe(call, options.operator_namespace));
  });
  server.Open(options.certificate_pem);
  co_await life.app().WaitForStop();
  kube::Result<> ended = co_await server.Drain();
  kube::IgnoreError(ended, "calls have a timeout of their own");
  ended = co_await life.app().EndTasks(life.app().tasks());
  kube::IgnoreError(ended, "all tasks have ended in any case");
  co_return kube::Ok();
}

}  // namespace sim
