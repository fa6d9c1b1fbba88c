// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_status.h"

#include <utility>

namespace operator_ {
namespace {

struct Verdict {
  bool ready = false;
  std::string reason;
  std::string message;
};

Verdict ReadyOf(const PolicyView& view, const PolicyServing& serving) {
  if (!serving.enabled) {
    return {false, "Disabled",
            "the plugin schedulingPolicies of the ClusterPodPlacementConfig is not enabled"};
  }
  if (!view.problems.empty()) return {false, "NotAccepted", "the spec is invalid"};
  if (view.in_reserved_namespace) {
    return {false, "ReservedNamespace",
            "nothing is changed in kube-* and in the operator's namespace"};
  }
  if (view.too_large) {
    return {false, std::string(kTooLarge),
            "the policies of the namespace, or those of all namespaces, are too large together; "
            "older ones come first, this one is not applied"};
  }
  if (!view.selects) {
    return {false, "SelectsNothing", "a selector is absent, or the policy has no criteria"};
  }
  if (!serving.available) {
    return {
        false, "WebhookUnavailable",
        "no replica of the webhook answers" + (serving.cause.empty() ? "" : ": " + serving.cause)};
  }
  if (view.in_force) return {true, "InForce", "pods that are created from now on get the criteria"};
  if (!view.configured) {
    return {false, "NotConfigured",
            "the API server does not call the webhook with the newest configuration yet"};
  }
  return {
      false, "Propagating",
      std::to_string(view.having) + " of " + std::to_string(view.replicas) + " replicas have it"};
}

}  // namespace

policy::PolicyStatus StatusOf(const policy::SchedulingPolicy& policy, const PolicyView& view,
                              const PolicyServing& serving, kube::WallTime now) {
  policy::PolicyStatus status = policy.status;
  status.observed_generation = policy.generation;
  auto set = [&](std::string_view type, Verdict verdict) {
    api::SetCondition(status.conditions,
                      {.type = std::string(type),
                       .status = verdict.ready ? "True" : "False",
                       .reason = std::move(verdict.reason),
                       .message = std::move(verdict.message),
                       .observed_generation = policy.generation},
                      now);
  };
  if (view.problems.empty()) {
    set(policy::kAccepted, {true, "Accepted", "the spec is valid"});
  } else {
    set(policy::kAccepted, {false, "InvalidSpec", view.problems});
  }
  set(policy::kReady, ReadyOf(view, serving));
  return status;
}

}  // namespace operator_
