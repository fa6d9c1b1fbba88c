// SPDX-License-Identifier: Apache-2.0
// GateWebhook answers the AdmissionReviews of new pods: it gates them, or places them with a
// PodPlacer. It makes no calls and denies no pod: a pod that it cannot read is admitted without a
// gate, with a warning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/admission/response.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "placement/gating.h"
#include "webhook/pod_placer.h"
#include "webhook/pod_review.h"

namespace webhook {

struct GateWebhookOptions {
  // Empty: adds the cluster gate to pods of all namespaces. Otherwise: adds the local gate to pods
  // of this namespace.
  std::string shard_namespace;
  // The namespace of the operator and its operands, whose pods are never gated.
  std::string operator_namespace;
  // For the cluster gate: places pods of the paths in api/known_images.h. nullptr: they are gated.
  // Outlives the webhook.
  PodPlacer* placer = nullptr;
};

class GateWebhook {
 public:
  // `metrics` and `clock` outlive the webhook.
  GateWebhook(GateWebhookOptions options, kube::Metrics& metrics, kube::Clock& clock);

  // Adds the webhook's paths to `server`. The webhook must outlive it.
  void AddTo(kube::HttpsServer& server);

  // 200 with an AdmissionReview; 400 if the body is not one, 404 if the path has no valid name of a
  // PodPlacementConfig, or of one of its rules.
  kube::HttpReply Answer(const kube::HttpCall& call);

 private:
  placement::GateDecision DecideGate(const PodReview& review, std::string_view path) const;
  // The patch that places the pod of the last review; nullopt: it has to be gated.
  std::optional<std::string> Place() const;
  kube::AdmissionResponse Decide(const PodReview& review, std::string_view path,
                                 std::string_view entry, bool small);
  kube::Async<kube::HttpReply> AnswerLater(kube::HttpCall call);

  GateWebhookOptions options_;
  kube::Clock& clock_;
  kube::Counter& processed_;
  kube::Counter& gated_;
  kube::Counter& placed_;
  kube::Histogram& response_time_;
  PodReviewReader reader_;
};

}  // namespace webhook
