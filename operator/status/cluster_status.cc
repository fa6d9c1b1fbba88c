// SPDX-License-Identifier: Apache-2.0
#include "operator/status/cluster_status.h"

#include <vector>

#include "api/find_condition.h"
#include "operator/probes/reach.h"
#include "operator/status/remedies.h"

namespace operator_ {
namespace {

// The reason of conditions about the webhook where there is none.
constexpr char kExecFormatErrorMonitorSupported[] = "ExecFormatErrorMonitorSupported";
constexpr char kGatedByPolicy[] = "GatedByPolicy";

constexpr char kCallsArrive[] = "the API server calls the webhook";

// True if calls reach the webhook, as far as this operator or, before its first probe, the last one
// knows.
bool CallsArrive(Reach reach, const std::vector<api::Condition>& conditions) {
  const api::Condition* before =
      api::FindCondition(conditions, api::kMutatingWebhookConfigurationNotAvailable);
  bool known = before != nullptr && before->message == kCallsArrive;
  return reach == Reach::kReached || (reach == Reach::kUnknown && known);
}

}  // namespace

api::ClusterPodPlacementConfigStatus ClusterStatus(const api::ClusterPodPlacementConfig& config,
                                                   const ClusterView& view, kube::WallTime now) {
  api::ClusterPodPlacementConfigStatus status = config.status;
  auto set = [&](std::string_view type, bool value, std::string reason, std::string message) {
    api::SetCondition(status.conditions,
                      {.type = std::string(type),
                       .status = value ? "True" : "False",
                       .reason = std::move(reason),
                       .message = std::move(message),
                       .observed_generation = config.metadata().generation()},
                      now);
  };
  auto set_not_rolled_out = [&](std::string_view type, const Rollout& rollout) {
    if (rollout.complete) {
      set(type, false, "AsExpected", "all replicas are up to date and available");
    } else {
      set(type, true, rollout.available ? "RollingOut" : "NotAvailable",
          std::to_string(rollout.ready_replicas) + " of " + std::to_string(rollout.replicas) +
              " replicas are ready");
    }
  };

  bool deprovisioning = !view.deprovisioning.empty();
  const OperandHealth& operands = view.operands;
  bool by_policy = operands.by_policy;
  if (operands.works()) {
    set(api::kAvailable, true, "AllComponentsReady",
        by_policy ? "the controller is available, and policies gate the pods"
                  : "controller and webhook are available");
  } else {
    set(api::kAvailable, false, deprovisioning ? "Deprovisioning" : "NotAllComponentsReady",
        deprovisioning ? "the operands are being removed" : "not all components are available");
  }
  if (deprovisioning) {
    set(api::kProgressing, false, "Deprovisioning", "the operands are being removed");
  } else if (operands.complete()) {
    set(api::kProgressing, false, "AllComponentsReady",
        by_policy ? "the controller is rolled out" : "controller and webhook are rolled out");
  } else if (operands.switching) {
    set(api::kProgressing, true, "SwitchingGating",
        by_policy ? "policies take over from the webhook" : "the webhook takes over from policies");
  } else {
    set(api::kProgressing, true, "RollingOut", "the operands are being rolled out");
  }
  if (!config.problems.empty()) {
    set(api::kDegraded, true, "InvalidSpec", api::Describe(config.problems));
  } else if (operands.problem) {
    set(api::kDegraded, true, operands.problem->reason, WithRemedy(*operands.problem));
  } else if (view.gating) {
    set(api::kDegraded, true, view.gating->reason, WithRemedy(*view.gating));
  } else if (view.named_objects) {
    set(api::kDegraded, true, view.named_objects->reason, WithRemedy(*view.named_objects));
  } else {
    set(api::kDegraded, false, "AsExpected", "no problem is known");
  }
  if (deprovisioning) {
    set(api::kDeprovisioning, true, "Deleted", view.deprovisioning);
  } else {
    set(api::kDeprovisioning, false, "NotDeleted", "the configuration is not being deleted");
  }
  set_not_rolled_out(api::kControllerNotRolledOut, operands.controller);
  if (by_policy) {
    set(api::kWebhookNotRolledOut, false, kGatedByPolicy, "policies gate the pods");
  } else {
    set_not_rolled_out(api::kWebhookNotRolledOut, operands.webhook);
  }
  if (by_policy && operands.gating_policies_configured) {
    set(api::kMutatingWebhookConfigurationNotAvailable, false, kGatedByPolicy,
        "policies gate the pods");
  } else if (by_policy) {
    set(api::kMutatingWebhookConfigurationNotAvailable, true, "NotConfigured",
        "the policies that gate pods are created when the controller is available");
  } else if (operands.webhook_configured && operands.reach == Reach::kUnreachable) {
    set(api::kMutatingWebhookConfigurationNotAvailable, true, std::string(kWebhookUnreachable),
        "the API server cannot call the cluster's webhook: new pods are created without a gate");
  } else if (operands.webhook_configured) {
    set(api::kMutatingWebhookConfigurationNotAvailable, false, "AsExpected",
        CallsArrive(operands.reach, status.conditions)
            ? kCallsArrive
            : "the webhook configuration makes the API server call the webhook; whether its calls "
              "arrive is not known yet");
  } else {
    set(api::kMutatingWebhookConfigurationNotAvailable, true, "NotConfigured",
        "the API server does not call the webhook: the webhook configuration is created when "
        "controller and webhook are available");
  }
  if (view.upgrade && view.upgrade->known) {
    api::Condition shards = UpgradeCondition(*view.upgrade, status.conditions);
    set(kShardsUpToDate, shards.status == "True", shards.reason, shards.message);
  }
  if (view.certificates) {
    bool in_use = view.certificates->message.empty();
    set(api::kCertificatesProvided, in_use, view.certificates->reason,
        in_use ? "the cluster's components serve the provider's certificates"
               : view.certificates->message);
  } else if (!config.spec.certificates || config.spec.certificates->provider == "Operator") {
    std::erase_if(status.conditions, [](const api::Condition& condition) {
      return condition.type == api::kCertificatesProvided;
    });
  }
  for (const FeatureCondition& condition : view.of_features) {
    if (condition.state) {
      set(condition.type, condition.state->status, condition.state->reason,
          condition.state->message);
    } else {
      std::erase_if(status.conditions,
                    [&](const api::Condition& present) { return present.type == condition.type; });
    }
  }
  // Of versions up to 0.2, which had no monitor.
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == kExecFormatErrorMonitorSupported;
  });
  return status;
}

}  // namespace operator_
