// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/policy_webhook.h"

#include <utility>

#include "api/webhook_probe.h"
#include "kube/metrics/metrics.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/webhook/policy_replica.h"
#include "scheduling-policies/webhook/policy_webhook.h"
#include "webhook/probe.h"

namespace sim {

kube::Async<> RunPolicyWebhook(Life& life, PolicyWebhookOptions options) {
  co_await kube::IgnoreCancellation();
  kube::App& app = life.app();
  kube::Metrics& metrics = life.metrics();
  policy::PolicyReplica replica(life.client(), life.clock(), options.operator_namespace,
                                options.pod_name);
  policy::PolicyWebhook policies({options.operator_namespace, options.only_changed_templates,
                                  options.require_cluster_policies},
                                 replica, life.client(), metrics, life.clock());
  HttpServer server(*options.services, life, options.served_as);
  kube::HttpHandler answer = [&policies](kube::HttpCall call) {
    return policies.Answer(std::move(call));
  };
  server.Handle(policy::kPoliciesPath, answer);
  server.Handle(policy::kProbePathPrefix, answer);
  server.Handle(api::kWebhookProbePath, [&options](kube::HttpCall call) {
    return AnswerNow(webhook::AnswerProbe(call, options.operator_namespace));
  });
  server.ReadyIf([&replica] { return replica.InForce().has_value(); });
  server.Open(options.certificate_pem);
  replica.Start(app.tasks());

  co_await app.WaitForStop();
  kube::Result<> ended = co_await server.Drain();
  kube::IgnoreError(ended, "calls have a timeout of their own");
  ended = co_await app.EndTasks(app.tasks());
  kube::IgnoreError(ended, "all tasks have ended in any case");
  co_return co_await replica.End();
}

}  // namespace sim
