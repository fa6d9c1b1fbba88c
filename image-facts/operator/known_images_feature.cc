// SPDX-License-Identifier: Apache-2.0
#include "image-facts/operator/known_images_feature.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/known_images.h"
#include "api/webhook_probe.h"
#include "image-facts/by_config.h"
#include "image-facts/known_images_report.h"
#include "operator/objects/dry_run_probe.h"
#include "operator/status/feature_condition.h"

namespace image_facts {
namespace {

using kube::Async;
using kube::Outcome;
using kube::Result;
using operator_::FeatureCondition;
using State = operator_::FeatureCondition::State;

// More than there are: a webhook has two or three.
constexpr size_t kMaxReplicas = 16;

std::string Text(uint64_t number) { return std::to_string(number); }

class KnownImagesTerm final : public operator_::FeatureTerm {
 public:
  KnownImagesTerm(operator_::FeatureContext context, const PolicyMetrics& metrics)
      : context_(std::move(context)), metrics_(metrics) {}

  // FeatureTerm
  void Start(kube::TaskGroup&) override {}
  bool Owns(const kube::Unstructured&) const override { return false; }
  std::string Remains() const override { return ""; }
  std::vector<FeatureCondition> Conditions() const override {
    if (!known_) return {};
    return {{.type = kKnownImagesCondition, .state = state_}};
  }

  // Reconciler
  Async<Outcome> Reconcile(kube::Request) override {
    const std::optional<api::ClusterPodPlacementConfig> config = context_.configs.Cluster();
    const bool wanted = config && !config->metadata().has_deletion_timestamp() &&
                        config->spec.known_images == api::kPlaceKnownImages;
    if (!wanted || !AllowsPlacing(*config)) {
      due_.reset();
      replicas_.clear();
      Know(wanted ? std::optional(State{
                        .status = false,
                        .reason = "SchedulingPolicies",
                        .message = "all pods are gated, as the plugin schedulingPolicies needs the "
                                   "gate for pods that its webhook has missed"})
                  : std::nullopt);
      co_return Outcome::Done();
    }
    kube::TimePoint now = context_.clock.Now();
    if (due_ && now < *due_) co_return After(*due_ - now);
    operator_::DryRunProbe probe{.name = "pod-placement-known-images",
                                 .label = api::kWebhookProbeLabel,
                                 .label_value = std::string(api::kClusterWebhookProbe),
                                 .annotation = api::kWebhookReportAnnotation};
    Result<std::string> answer =
        co_await operator_::AnnotationOf(context_.client, std::move(probe), context_.options);
    if (FailedWith(answer, kube::Code::kCancelled)) co_return answer.error();
    now = context_.clock.Now();
    due_ = now + kReportEvery;
    if (answer) Add(*answer, now);
    // Without an answer, what is known stays.
    if (answer || !known_) Know(Now());
    co_return After(kReportEvery);
  }

 private:
  struct Replica {
    KnownImagesReport report;
    kube::TimePoint seen;
  };

  static Outcome After(kube::Duration delay) {
    return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(delay));
  }

  void Know(std::optional<State> state) {
    bool changed = !known_ || state != state_;
    known_ = true;
    state_ = std::move(state);
    if (changed) context_.reported();
  }

  void Add(const std::string& text, kube::TimePoint now) {
    std::erase_if(replicas_,
                  [&](const auto& each) { return now - each.second.seen > kReportCounts; });
    std::optional<KnownImagesReport> report = ReportFromText(text);
    if (!report) return;
    if (!replicas_.contains(report->replica) && replicas_.size() == kMaxReplicas) {
      replicas_.erase(std::min_element(
          replicas_.begin(), replicas_.end(),
          [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; }));
    }
    std::string replica = report->replica;
    replicas_.insert_or_assign(std::move(replica), Replica{std::move(*report), now});
  }

  State Now() const {
    if (!replicas_.empty()) return ByWebhook();
    const auto images = static_cast<uint64_t>(metrics_.images.Value());
    if (images == 0) {
      return {.status = false,
              .reason = "NoneKnown",
              .message = "no image is known yet, or no webhook has answered: pods are gated"};
    }
    return {.status = true,
            .reason = "PlacedByPolicy",
            .message = "the policy of the cluster gate places pods of " + Text(images) + " images"};
  }

  State ByWebhook() const {
    uint64_t looked = 0, placed = 0, images = 0;
    for (const auto& [name, replica] : replicas_) {
      looked += replica.report.looked;
      placed += replica.report.placed;
      images = std::max(images, replica.report.images);
    }
    std::string of = Text(replicas_.size()) + (replicas_.size() == 1 ? " replica" : " replicas") +
                     " of the webhook";
    if (looked == 0) {
      return {
          .status = images > 0,
          .reason = images > 0 ? "NoPods" : "NoneKnown",
          .message = Text(images) + " images are known to " + of + ", which has seen no pod yet"};
    }
    return {.status = images > 0,
            .reason = images > 0 ? "PlacedByWebhook" : "NoneKnown",
            .message = Text(placed) + " of " + Text(looked) + " pods (" +
                       Text(100 * placed / looked) + " %) were placed at their creation since " +
                       of + " started; " + Text(images) + " images are known"};
  }

  operator_::FeatureContext context_;
  const PolicyMetrics& metrics_;
  // When to ask again; nullopt: at once.
  std::optional<kube::TimePoint> due_;
  std::map<std::string, Replica> replicas_;
  // Whether `state_` is known.
  bool known_ = false;
  std::optional<State> state_;
};

class KnownImagesFeature final : public operator_::Feature {
 public:
  explicit KnownImagesFeature(const PolicyMetrics& metrics) : metrics_(metrics) {}

  // Feature
  std::string_view name() const override { return "known-images"; }
  std::vector<std::string> Deployments() const override { return {}; }
  std::vector<operator_::ValidatedKind> ValidatedKinds() const override { return {}; }
  void AddTo(kube::HttpsServer&) override {}
  std::unique_ptr<operator_::FeatureTerm> NewTerm(operator_::FeatureContext context) override {
    return std::make_unique<KnownImagesTerm>(std::move(context), metrics_);
  }

 private:
  const PolicyMetrics& metrics_;
};

}  // namespace

std::unique_ptr<operator_::Feature> NewKnownImagesFeature(const PolicyMetrics& metrics) {
  return std::make_unique<KnownImagesFeature>(metrics);
}

}  // namespace image_facts
