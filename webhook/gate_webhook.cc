// SPDX-License-Identifier: Apache-2.0
#include "webhook/gate_webhook.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/base/error.h"
#include "kube/base/one_line.h"
#include "placement/gating.h"
#include "placement/local_configs.h"
#include "webhook/gate_patch.h"
#include "webhook/placement_patch.h"

namespace webhook {
namespace {

using kube::AdmissionResponse;
using placement::GateDecision;

// A larger pod is gated: here, its images would delay the creation of others.
constexpr size_t kMaxPlacedReview = 256 << 10;
// Each required term costs an operation of the patch.
constexpr size_t kMaxPlacedTerms = 64;

// Whether a pod may be placed that the decision is about.
bool MayPlace(std::string_view path, const placement::PodView& pod, GateDecision decision) {
  if (pod.required_terms_on_architecture.size() > kMaxPlacedTerms) return false;
  if (path == api::kPlaceBehindLocalGatePath) {
    bool local = std::find(pod.gates.begin(), pod.gates.end(), api::kLocalGate) != pod.gates.end();
    return local && (decision == GateDecision::kGate || decision == GateDecision::kAlreadyGated);
  }
  return decision == GateDecision::kGate &&
         (path == api::kPlacePath || path == api::kPlaceWithPreferencesPath);
}

std::string_view DecisionName(GateDecision decision) {
  switch (decision) {
    case GateDecision::kGate:
      return "gated";
    case GateDecision::kAlreadyGated:
      return "already-gated";
    case GateDecision::kIgnore:
      return "ignored";
    case GateDecision::kOffLimits:
      return "off-limits";
  }
  return "";
}

}  // namespace

GateWebhook::GateWebhook(GateWebhookOptions options, kube::Metrics& metrics, kube::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      processed_(metrics.AddCounter("mto_ppo_wh_pods_processed_total",
                                    "The total number of pods processed by the webhook")),
      gated_(metrics.AddCounter("mto_ppo_wh_pods_gated_total",
                                "The total number of pods gated by the webhook")),
      placed_(metrics.AddCounter("mto_ppo_wh_pods_placed_total",
                                 "The total number of pods placed by the webhook, because their "
                                 "images were known")),
      response_time_(metrics.AddHistogram("mto_ppo_wh_response_time_seconds",
                                          "The response time of the webhook")) {}

void GateWebhook::AddTo(kube::HttpsServer& server) {
  std::vector<std::string_view> paths = {api::kLocalGatePathPrefix};
  if (options_.shard_namespace.empty())
    paths = {api::kClusterGatePath, api::kClusterPreferencesPath, api::kPlacePath,
             api::kPlaceWithPreferencesPath, api::kPlaceBehindLocalGatePath};
  for (std::string_view path : paths) {
    server.Handle("POST", std::string(path),
                  [this](kube::HttpCall call) { return AnswerLater(std::move(call)); });
  }
}

kube::Async<kube::HttpReply> GateWebhook::AnswerLater(kube::HttpCall call) {
  co_return Answer(call);
}

kube::HttpReply GateWebhook::Answer(const kube::HttpCall& call) {
  kube::Stopwatch watch(response_time_, clock_);
  std::string_view entry;
  if (!options_.shard_namespace.empty()) {
    entry = std::string_view(call.path).substr(
        std::min(api::kLocalGatePathPrefix.size(), call.path.size()));
    // It goes into a comma-separated list.
    if (!placement::ParseLocalConfig(entry))
      return kube::FailureReply(404, "the path has no valid name of a PodPlacementConfig or rule");
  }
  kube::Result<PodReview> review = reader_.Read(call.body);
  kube::HttpReply reply;
  if (review) {
    bool small = call.body.size() <= kMaxPlacedReview;
    reply.body = WriteReview(review->uid, Decide(*review, call.path, entry, small));
  } else {
    LOG(WARNING) << "invalid AdmissionReview: " << review.error();
    reply = kube::FailureReply(400, review.error().message());
  }
  reader_.Shrink();
  return reply;
}

GateDecision GateWebhook::DecideGate(const PodReview& review, std::string_view path) const {
  if (!options_.shard_namespace.empty()) {
    return placement::ShouldGateLocally(review.pod, options_.shard_namespace,
                                        options_.operator_namespace);
  }
  bool preferences = path != api::kClusterGatePath && path != api::kPlacePath;
  bool places = path != api::kClusterGatePath && path != api::kClusterPreferencesPath;
  if (!review.placed_at_creation || !places)
    return placement::ShouldGateForCluster(review.pod, options_.operator_namespace, preferences);
  // What the pod requires is for the images that it had then.
  placement::PodView pod = review.pod;
  pod.required_terms_on_architecture.clear();
  return placement::ShouldGateForCluster(pod, options_.operator_namespace, preferences);
}

std::optional<std::string> GateWebhook::Place() const {
  PodInReview before = reader_.ReadPod();
  kube::core::Pod pod = before.pod;
  if (!options_.placer->Place(pod)) return std::nullopt;
  return PlacementPatch(before, pod);
}

AdmissionResponse GateWebhook::Decide(const PodReview& review, std::string_view path,
                                      std::string_view entry, bool small) {
  if (!review.creates_pod) return AdmissionResponse::Allowed();
  processed_.Increment();
  if (!review.readable) {
    LOG(WARNING) << "not gated: namespace=" << review.pod.ns
                 << ": the pod has no metadata or no spec";
    return AdmissionResponse::Allowed().Warn(
        "the pod has no metadata or no spec: it is not placed by architecture");
  }
  bool local = !options_.shard_namespace.empty();
  GateDecision decision = DecideGate(review, path);
  std::optional<std::string> placed;
  if (small && options_.placer != nullptr && MayPlace(path, review.pod, decision)) placed = Place();
  VLOG(1) << "pod=" << kube::OneLine(review.pod.ns) << "/" << kube::OneLine(review.name)
          << " gate=" << (local ? "local" : "cluster")
          << " decision=" << (placed ? "placed" : DecisionName(decision));
  if (placed) {
    placed_.Increment();
    return AdmissionResponse::Patched(std::move(*placed));
  }
  if (decision == GateDecision::kGate) gated_.Increment();
  return AdmissionResponse::Patched(local ? LocalPatch(review, decision, entry)
                                          : ClusterPatch(review, decision));
}

}  // namespace webhook
