// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_feature.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec-format/names.h"
#include "exec-format/operator/monitor_reconciler.h"
#include "exec-format/operator/monitor_status.h"

namespace exec_format {
namespace {

using operator_::FeatureCondition;

class MonitorTerm final : public operator_::FeatureTerm {
 public:
  MonitorTerm(operator_::FeatureContext context, const MonitorMetrics& metrics)
      : reconciler_(context.client, context.options, context.configs, context.store, metrics) {
    reconciler_.OnRemoved(std::move(context.removed));
    reconciler_.OnReported(std::move(context.reported));
  }

  // FeatureTerm
  void Start(kube::TaskGroup&) override {}
  bool Owns(const kube::Unstructured& object) const override {
    return object.metadata().namespace_() == kMonitorNamespace;
  }
  std::string Remains() const override {
    return reconciler_.Left() ? "the monitors of exec format errors are being removed" : "";
  }
  std::vector<FeatureCondition> Conditions() const override {
    if (!reconciler_.known()) return {};
    return {{.type = kMonitorAvailable, .state = reconciler_.state()}};
  }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override {
    return reconciler_.Reconcile(std::move(request));
  }

 private:
  MonitorReconciler reconciler_;
};

class MonitorFeature final : public operator_::Feature {
 public:
  explicit MonitorFeature(const MonitorMetrics& metrics) : metrics_(metrics) {}

  // Feature
  std::string_view name() const override { return "exec-format-errors"; }
  std::vector<std::string> Deployments() const override { return {}; }
  std::vector<operator_::ValidatedKind> ValidatedKinds() const override { return {}; }
  void AddTo(kube::HttpsServer&) override {}
  std::unique_ptr<operator_::FeatureTerm> NewTerm(operator_::FeatureContext context) override {
    return std::make_unique<MonitorTerm>(std::move(context), metrics_);
  }

 private:
  const MonitorMetrics& metrics_;
};

}  // namespace

std::unique_ptr<operator_::Feature> NewMonitorFeature(const MonitorMetrics& metrics) {
  return std::make_unique<MonitorFeature>(metrics);
}

}  // namespace exec_format
