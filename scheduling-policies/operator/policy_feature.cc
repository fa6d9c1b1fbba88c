// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_feature.h"

#include <optional>
#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/scheduling_policies.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/operator/policy_objects.h"
#include "scheduling-policies/operator/policy_reconciler.h"
#include "scheduling-policies/operator/policy_store.h"
#include "scheduling-policies/operator/policy_webhooks.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {
namespace {

// As PolicyReconciler::Plugin.
std::optional<PolicyReconciler::PluginSpec> EnabledPlugin(const ConfigStore& configs) {
  std::optional<api::ClusterPodPlacementConfig> config = configs.Cluster();
  if (!config || config->metadata().has_deletion_timestamp()) return std::nullopt;
  const api::SchedulingPolicies* plugin = config->EnabledSchedulingPolicies();
  if (plugin == nullptr) return std::nullopt;
  PolicyReconciler::PluginSpec spec{.plugin = *plugin, .operand = {}};
  if (config->spec.operands) spec.operand = config->spec.operands->policy_webhook;
  return spec;
}

class PolicyTerm final : public FeatureTerm {
 public:
  explicit PolicyTerm(FeatureContext context)
      : context_(std::move(context)),
        policies_(context_.client, context_.clock, context_.options.ns),
        reconciler_(
            context_.client, context_.clock, context_.options,
            [&configs = context_.configs] { return EnabledPlugin(configs); }, policies_,
            context_.store) {
    policies_.OnChange(context_.changed);
    reconciler_.OnRemoved(context_.removed);
  }

  // FeatureTerm
  void Start(kube::TaskGroup& tasks) override { policies_.Start(tasks); }
  bool Owns(const kube::Unstructured& object) const override {
    const std::string& name = object.metadata().name();
    return name == policy::kWebhookName || name == policy::kWebhookConfigurationName;
  }
  std::string Remains() const override {
    bool left = PolicyObjectsLeft(context_.store, context_.options);
    return left ? "the webhook of scheduling policies is being removed" : "";
  }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override {
    return reconciler_.Reconcile(std::move(request));
  }

 private:
  FeatureContext context_;
  PolicyStore policies_;
  PolicyReconciler reconciler_;
};

class PolicyFeature final : public Feature {
 public:
  PolicyFeature(kube::Client& client, kube::Clock& clock, std::string operator_namespace)
      : webhooks_(client, clock, std::move(operator_namespace)) {}

  // Feature
  std::string_view name() const override { return "policies"; }
  std::vector<std::string> Deployments() const override {
    return {std::string(policy::kWebhookName)};
  }
  std::vector<ValidatedKind> ValidatedKinds() const override {
    return {{"validate-podschedulingpolicy.kupid.gardener.cloud", policy::kValidatePolicyPath,
             policy::kPodSchedulingPolicies},
            {"validate-clusterpodschedulingpolicy.kupid.gardener.cloud",
             policy::kValidateClusterPolicyPath, policy::kClusterPodSchedulingPolicies}};
  }
  void AddTo(kube::HttpsServer& server) override { webhooks_.AddTo(server); }
  std::unique_ptr<FeatureTerm> NewTerm(FeatureContext context) override {
    return std::make_unique<PolicyTerm>(std::move(context));
  }

 private:
  PolicyWebhooks webhooks_;
};

}  // namespace

std::unique_ptr<Feature> NewPolicyFeature(kube::Client& client, kube::Clock& clock,
                                          std::string operator_namespace) {
  return std::make_unique<PolicyFeature>(client, clock, std::move(operator_namespace));
}

}  // namespace operator_
