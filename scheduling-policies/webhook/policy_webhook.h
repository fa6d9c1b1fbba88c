// SPDX-License-Identifier: Apache-2.0
// PolicyWebhook answers AdmissionReviews of pods and workloads with the criteria of the policies
// that select their pods. It denies only what is too large to be merged (kMaxSchedulingBytes) and,
// as an option, what is beyond a limit of merging. What it cannot decide is an HTTP error, and the
// webhook's failurePolicy decides. Namespaces take turns.
#pragma once

#include <string>
#include <string_view>

#include "kube/admission/response.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "scheduling-policies/index.h"
#include "scheduling-policies/webhook/namespace_reader.h"
#include "scheduling-policies/webhook/policy_replica.h"
#include "scheduling-policies/webhook/policy_review.h"
#include "scheduling-policies/webhook/turns.h"

namespace policy {

struct PolicyWebhookOptions {
  // The namespace of the operator and its operands, in which nothing is changed.
  std::string operator_namespace;
  // See TargetOptions.
  bool only_changed_templates = false;
  // A request is denied if a limit would skip a criterion of a cluster policy.
  bool require_cluster_policies = false;
};

class PolicyWebhook {
 public:
  // The references outlive the webhook.
  PolicyWebhook(PolicyWebhookOptions options, const PolicyReplica& replica, kube::Client& client,
                kube::Metrics& metrics, kube::Clock& clock);

  // Adds the webhook's paths to `server`. The webhook must outlive it.
  void AddTo(kube::HttpsServer& server);

  // 200 with an AdmissionReview that allows the request; 400 if the body is not a review, 404 for a
  // probe path that names nothing, 500 while the replica is not in force, if the labels of the
  // namespace cannot be read, or if too many requests of it wait.
  kube::Async<kube::HttpReply> Answer(kube::HttpCall call);

 private:
  // Reviews by result.
  struct Counters {
    explicit Counters(kube::Metrics& metrics);
    kube::Counter& patched;
    kube::Counter& unchanged;
    kube::Counter& failed;
    kube::Counter& invalid;
    kube::Counter& skipped_criteria;
  };

  // `body`: the review, which outlives the call. Its objects are read when it has its turn.
  kube::Async<kube::AdmissionResponse> Decide(ReviewHeader header, std::string_view body,
                                              kube::TimePoint arrived);
  kube::AdmissionResponse Merged(const PolicyReview& review, const Target& target,
                                 Index::Selected selected);

  PolicyWebhookOptions options_;
  const PolicyReplica& replica_;
  kube::Clock& clock_;
  Counters counters_;
  kube::Histogram& response_time_;
  PolicyReviewReader reader_;
  Turns turns_;
  NamespaceReader namespaces_;
};

}  // namespace policy
