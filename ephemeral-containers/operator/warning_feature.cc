// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/operator/warning_feature.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ephemeral-containers/names.h"
#include "ephemeral-containers/operator/warning_reconciler.h"
#include "operator/status/feature_condition.h"

namespace operator_ {
namespace {

class WarningTerm final : public FeatureTerm {
 public:
  explicit WarningTerm(FeatureContext context)
      : reconciler_(context.client, context.clock, context.options, context.configs,
                    context.store) {
    reconciler_.OnRemoved(std::move(context.removed));
    reconciler_.OnReported(std::move(context.reported));
  }

  // FeatureTerm
  void Start(kube::TaskGroup&) override {}
  bool Owns(const kube::Unstructured& object) const override {
    const std::string& name = object.metadata().name();
    return name == ephemeral::kWebhookName || name == ephemeral::kWebhookConfigurationName;
  }
  std::string Remains() const override {
    return reconciler_.Left() ? "the webhook of ephemeral containers is being removed" : "";
  }
  std::vector<FeatureCondition> Conditions() const override {
    if (!reconciler_.known()) return {};
    FeatureCondition condition{.type = kEphemeralContainerWarningsAvailable, .state = {}};
    if (const std::optional<Problem>& problem = reconciler_.problem()) {
      condition.state = {.status = false,
                         .reason = problem->reason,
                         .message = "the webhook " + std::string(ephemeral::kWebhookName) +
                                    " does not run, or the API server does not call it, so nobody "
                                    "is warned of ephemeral containers: " +
                                    problem->message};
    }
    return {std::move(condition)};
  }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override {
    return reconciler_.Reconcile(std::move(request));
  }

 private:
  WarningReconciler reconciler_;
};

class WarningFeature final : public Feature {
 public:
  // Feature
  std::string_view name() const override { return "ephemeral-containers"; }
  std::vector<std::string> Deployments() const override {
    return {std::string(ephemeral::kWebhookName)};
  }
  std::vector<ValidatedKind> ValidatedKinds() const override { return {}; }
  void AddTo(kube::HttpsServer&) override {}
  std::unique_ptr<FeatureTerm> NewTerm(FeatureContext context) override {
    return std::make_unique<WarningTerm>(std::move(context));
  }
};

}  // namespace

std::unique_ptr<Feature> NewWarningFeature() { return std::make_unique<WarningFeature>(); }

}  // namespace operator_
