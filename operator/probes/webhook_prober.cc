// SPDX-License-Identifier: Apache-2.0
#include "operator/probes/webhook_prober.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "api/webhook_probe.h"
#include "operator/objects/dry_run_probe.h"

namespace operator_ {

using kube::Async;
using kube::Outcome;
using kube::Result;

WebhookProber::WebhookProber(kube::Client& client, kube::Clock& clock, OperandOptions options,
                             ProbeTiming timing)
    : client_(client), clock_(clock), options_(std::move(options)), turns_(timing) {}

void WebhookProber::See(const std::string& scope, bool configured, bool ready) {
  if (!configured) return turns_.Forget(scope);
  if (!ready) return turns_.Pause(scope);
  if (turns_.Follow(scope, clock_.Now()) && on_followed_) on_followed_();
}

Async<Outcome> WebhookProber::Reconcile(kube::Request request) {
  std::optional<std::string> scope = turns_.Take(clock_.Now());
  if (scope) {
    Result<ProbeResult> result = co_await Probe(*scope, request.log);
    if (!result) co_return result.error();
    bool changed = turns_.Record(*scope, *result, clock_.Now());
    if (changed) {
      bool unreachable = turns_.Of(*scope) == Reach::kUnreachable;
      std::string of = scope->empty() ? "the cluster" : "namespace " + *scope;
      LOG_IF(WARNING, unreachable)
          << request.log << " the API server cannot call the webhook of " << of;
      LOG_IF(INFO, !unreachable) << request.log << " the API server calls the webhook of " << of;
      if (on_change_) on_change_(*scope);
    }
  }
  std::optional<kube::TimePoint> next = turns_.Next();
  if (!next) co_return Outcome::Done();
  kube::Duration delay = std::max<kube::Duration>(*next - clock_.Now(), kube::Duration(0));
  co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(delay));
}

Async<ProbeResult> WebhookProber::Probe(std::string scope, const std::string& log) {
  std::string label = scope.empty() ? std::string(api::kClusterWebhookProbe) : scope;
  DryRunProbe probe{.name = "pod-placement-webhook-probe",
                    .label = api::kWebhookProbeLabel,
                    .label_value = label,
                    .annotation = api::kWebhookProbeAnnotation};
  Result<std::string> answer = co_await AnnotationOf(client_, std::move(probe), options_);
  if (!answer && answer.error().code() == kube::Code::kCancelled) co_return answer.error();
  std::string error = answer ? "" : answer.error().message();
  LOG_IF(WARNING, !error.empty() && error != error_)
      << log << " whether the API server calls webhooks is not known: " << error;
  error_ = std::move(error);
  if (!answer) co_return ProbeResult::kUnknown;
  co_return *answer == label ? ProbeResult::kArrived : ProbeResult::kNotArrived;
}

}  // namespace operator_
