// SPDX-License-Identifier: Apache-2.0
// GateWebhook answers the AdmissionReviews of new pods. It keeps no pods, calls nobody, and never
// refuses one: what it cannot read it lets pass, with a warning.
#pragma once

#include <string>
#include <string_view>

#include "kube/admission/response.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "placement/gating.h"
#include "webhook/pod_review.h"

namespace webhook {

struct GateWebhookOptions {
  // Empty: adds the cluster gate to pods of any namespace. Else: adds the local gate to those of
  // this one.
  std::string shard_namespace;
  // Where the operator and its operands live, which are never gated.
  std::string operator_namespace;
};

class GateWebhook {
 public:
  // `metrics` and `clock` outlive the webhook.
  GateWebhook(GateWebhookOptions options, kube::Metrics& metrics, kube::Clock& clock);

  // Serves its path on `server`, which the webhook must outlive.
  void AddTo(kube::HttpsServer& server);

  // 200 with an AdmissionReview; 400 for a body that is none, 404 for a path that names no
  // PodPlacementConfig.
  kube::HttpReply Answer(const kube::HttpCall& call);

 private:
  placement::GateDecision DecideGate(const placement::PodView& pod, std::string_view path) const;
  kube::AdmissionResponse Decide(const PodReview& review, std::string_view path,
                                 std::string_view config);
  kube::Async<kube::HttpReply> AnswerLater(kube::HttpCall call);

  GateWebhookOptions options_;
  kube::Clock& clock_;
  kube::Counter& processed_;
  kube::Counter& gated_;
  kube::Histogram& response_time_;
  PodReviewReader reader_;
};

}  // namespace webhook
