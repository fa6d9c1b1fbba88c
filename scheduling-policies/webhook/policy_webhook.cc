// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_webhook.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/admission/json_patch.h"
#include "kube/base/error.h"
#include "kube/base/json_text.h"
#include "kube/base/one_line.h"
#include "kube/base/utf8.h"
#include "kube/types/object_name.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/names.h"

namespace policy {
namespace {

using kube::AdmissionResponse;
using kube::Error;
using kube::HttpReply;
using kube::Result;

// The API server cuts warnings to 256 characters, and those of a webhook to 4096 in all.
constexpr size_t kMaxWarnings = 10;
constexpr size_t kMaxWarning = 256;
// Of 256 connections (HttpsServerOptions): new ones are needed to refuse further requests.
constexpr size_t kMaxWaiting = 192;
// The timeout in the webhook configuration.
constexpr std::chrono::seconds kAnswerWithin{3};

kube::Counter& ReviewCounter(kube::Metrics& metrics, const char* result) {
  return metrics.AddCounter("mto_ppo_policy_wh_reviews_total",
                            "Requests that the API server sent to the policy webhook",
                            {{"result", result}});
}

// The part of a probe's path that goes into an annotation.
std::optional<std::string_view> ProbeOf(std::string_view path) {
  constexpr size_t kMaxProbe = 64;
  if (!path.starts_with(kProbePathPrefix)) return std::nullopt;
  path.remove_prefix(kProbePathPrefix.size());
  bool valid = kube::IsObjectName(path) && path.size() <= kMaxProbe;
  return valid ? path : std::string_view();
}

AdmissionResponse AnswerProbe(const PolicyReview& review, std::string_view probe) {
  std::string value;
  kube::AppendJsonString(value, probe);
  std::string annotations = "/metadata/annotations";
  kube::JsonPatch patch;
  const kube::Json* present = kube::Find(review.object, "metadata.annotations");
  if (present == nullptr || !present->is_object()) patch.Add(annotations, "{}");
  patch.Add(annotations + "/" + kube::PointerToken(kProbeAnnotation), value);
  return AdmissionResponse::Patched(std::move(patch).Take());
}

std::string Bounded(const std::string& warning) {
  return std::string(kube::CutUtf8(warning, kMaxWarning));
}

// What exists can still be updated, as its pods are refused. Those of a DaemonSet get no review.
bool MayPassUnmerged(const PolicyReview& review) {
  return review.operation == "UPDATE" && review.resource != "daemonsets";
}

AdmissionResponse TooLarge(const PolicyReview& review) {
  std::string message =
      "scheduling policies: labels, and affinity, tolerations, node selector and gates together, "
      "may have at most " +
      std::to_string(kMaxSchedulingBytes) + " bytes each";
  if (MayPassUnmerged(review))
    return AdmissionResponse::Allowed().Warn(message + "; policies are not applied");
  return AdmissionResponse::Denied(422, "Invalid", std::move(message));
}

}  // namespace

PolicyWebhook::Counters::Counters(kube::Metrics& metrics)
    : patched(ReviewCounter(metrics, "patched")),
      unchanged(ReviewCounter(metrics, "unchanged")),
      failed(ReviewCounter(metrics, "failed")),
      invalid(ReviewCounter(metrics, "invalid")),
      skipped_criteria(
          metrics.AddCounter("mto_ppo_policy_wh_skipped_criteria_total",
                             "Criteria of policies that do not fit the pod that they select")) {}

PolicyWebhook::PolicyWebhook(PolicyWebhookOptions options, const PolicyReplica& replica,
                             kube::Client& client, kube::Metrics& metrics, kube::Clock& clock)
    : options_(std::move(options)),
      replica_(replica),
      clock_(clock),
      counters_(metrics),
      response_time_(metrics.AddHistogram("mto_ppo_policy_wh_response_time_seconds",
                                          "The response time of the policy webhook")),
      reader_(options_.only_changed_templates),
      turns_(kMaxWaiting),
      namespaces_(client) {
  kube::Gauge& left_out = metrics.AddGauge(
      "mto_ppo_policy_wh_policies_left_out",
      "Policies that are not applied, because those of their namespace are too large together");
  metrics.OnRender(
      [this, &left_out] { left_out.Set(static_cast<double>(replica_.watch().LeftOut(""))); });
}

void PolicyWebhook::AddTo(kube::HttpsServer& server) {
  for (std::string_view path : {kPoliciesPath, kProbePathPrefix}) {
    server.Handle("POST", std::string(path),
                  [this](kube::HttpCall call) { return Answer(std::move(call)); });
  }
}

kube::Async<HttpReply> PolicyWebhook::Answer(kube::HttpCall call) {
  kube::Stopwatch watch(response_time_, clock_);
  kube::TimePoint arrived = clock_.Now();
  std::optional<std::string_view> probe = ProbeOf(call.path);
  if (probe && probe->empty()) co_return kube::FailureReply(404, "the path names no probe");
  Result<ReviewHeader> header = reader_.ReadHeader(call.body);
  if (!header) {
    counters_.invalid.Increment();
    LOG(WARNING) << "invalid AdmissionReview: " << header.error();
    co_return kube::FailureReply(400, header.error().message());
  }

  std::string uid = header->uid;
  Result<AdmissionResponse> response = AdmissionResponse::Allowed();
  if (Result<void> in_force = replica_.InForce(); !in_force) {
    response = in_force.error();
  } else if (probe) {
    Result<PolicyReview> review = reader_.Read(call.body);
    response = review ? AnswerProbe(*review, *probe) : Result<AdmissionResponse>(review.error());
  } else {
    response = co_await Decide(std::move(*header), call.body, arrived);
  }
  if (!response) {
    counters_.failed.Increment();
    VLOG(1) << "uid=" << kube::OneLine(uid) << " failed: " << response.error();
    co_return kube::FailureReply(500, response.error().message());
  }
  (response->patch().empty() ? counters_.unchanged : counters_.patched).Increment();
  HttpReply reply;
  reply.body = WriteReview(uid, *response);
  co_return reply;
}

kube::Async<AdmissionResponse> PolicyWebhook::Decide(ReviewHeader header, std::string_view body,
                                                     kube::TimePoint arrived) {
  TargetOptions options{.operator_namespace = options_.operator_namespace,
                        .only_changed_templates = options_.only_changed_templates};
  auto unchanged = [&](std::string_view reason) {
    VLOG(1) << "uid=" << kube::OneLine(header.uid) << " unchanged: " << reason;
    return AdmissionResponse::Allowed();
  };
  // Before the labels of the namespace are known: most of it does not depend on them.
  std::string_view reason = UnchangedWithoutObject(header.ToRequest(), {}, options);
  if (!reason.empty()) co_return unchanged(reason);
  if (!kube::IsObjectName(header.ns)) co_return unchanged("no namespace");

  // A new namespace is not in the watch yet.
  const Index& index = replica_.watch().index();
  std::optional<placement::Labels> read;
  if (index.LabelsOf(header.ns) == nullptr) {
    Result<placement::Labels> labels = co_await namespaces_.Read(header.ns);
    if (IsNotFound(labels)) co_return unchanged("the namespace does not exist");
    if (!labels) co_return labels.error();
    read = std::move(*labels);
  }
  Result<Turns::Turn> turn = co_await turns_.Wait(header.ns);
  if (!turn) co_return turn.error();
  if (clock_.Now() - arrived > kAnswerWithin)
    co_return Error::DeadlineExceeded("the API server does not wait for this answer any more");
  Result<void> in_force = replica_.InForce();
  if (!in_force) co_return in_force.error();

  // From here on without waiting: the index must not change.
  const placement::Labels* namespace_labels = read ? &*read : index.LabelsOf(header.ns);
  if (namespace_labels == nullptr)
    co_return Error::NotFound("the labels of namespace " + header.ns + " are not known any more");
  Result<PolicyReview> review = reader_.Read(body);
  if (!review) co_return review.error();
  Target target = FindTarget(review->ToRequest(), *namespace_labels, options);
  if (!target) co_return unchanged(target.left_unchanged);
  if (review->too_large) {
    if (!index.MaySelect(review->ns, *namespace_labels)) co_return unchanged("no policy");
    co_return TooLarge(*review);
  }
  placement::Labels labels = PodLabels(review->object, target);
  Result<Index::Selected> selected = Index::Selected();
  if (read) {
    selected = index.ForUnknown(review->ns, *read, labels);
  } else {
    selected = index.For(review->ns, labels);
  }
  if (!selected) co_return selected.error();
  co_return Merged(*review, target, std::move(*selected));
}

AdmissionResponse PolicyWebhook::Merged(const PolicyReview& review, const Target& target,
                                        Index::Selected selected) {
  if (target.only_cluster_policies)
    std::erase_if(selected.policies, [](const auto* policy) { return !policy->of_cluster(); });
  Result<MergeResult> merged = Merge(*target.spec, target.SpecPointer(), selected.policies);
  if (!merged) {
    return AdmissionResponse::Allowed().Warn(
        Bounded("scheduling policies are not applied: " + merged.error().message()));
  }
  counters_.skipped_criteria.Increment(static_cast<double>(merged->warnings.size()));
  if (options_.require_cluster_policies && !merged->beyond_limit.empty() &&
      !MayPassUnmerged(review)) {
    return AdmissionResponse::Denied(422, "Invalid",
                                     "scheduling policies: " + merged->beyond_limit);
  }
  VLOG(1) << "uid=" << kube::OneLine(review.uid) << " object=" << kube::OneLine(review.ns) << "/"
          << kube::OneLine(review.name) << " policies=" << selected.policies.size()
          << " patch=" << merged->patch.size() << " bytes";

  std::vector<std::string> warnings = std::move(merged->warnings);
  if (size_t left_out = replica_.watch().LeftOut(review.ns); left_out > 0) {
    warnings.insert(warnings.begin(), std::to_string(left_out) +
                                          " scheduling policies of the namespace are not applied: "
                                          "together they are too large");
  }
  AdmissionResponse response = AdmissionResponse::Patched(std::move(merged->patch));
  for (size_t i = 0; i < std::min(warnings.size(), kMaxWarnings); ++i)
    response = std::move(response).Warn(Bounded(warnings[i]));
  return response;
}

}  // namespace policy
