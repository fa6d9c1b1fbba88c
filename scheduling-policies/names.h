// SPDX-License-Identifier: Apache-2.0
// What other programs can see of scheduling policies: objects, paths, labels, annotations, events.
#pragma once

#include <string_view>

namespace policy {

// The webhook that applies policies, in the operator's namespace. The API server calls webhooks by
// the names of their configurations: this one is before those that gate pods.
inline constexpr std::string_view kWebhookName = "pod-placement-policy-web-hook";
inline constexpr std::string_view kWebhookConfigurationName = "multiarch-scheduling-policies";
inline constexpr std::string_view kPoliciesPath = "/policies";
// The operator asks by a dry run whether the API server calls the webhook as last configured
// (operator/configuration_probe.h): an object with this label comes back with the annotation, whose
// value is the rest of the path.
inline constexpr std::string_view kProbePathPrefix = "/policies/probe/";
inline constexpr std::string_view kProbeLabel = "multiarch.openshift.io/policy-probe";
inline constexpr std::string_view kProbeAnnotation = "multiarch.openshift.io/policy-probe";

// Paths of the operator's webhooks that validate policies.
inline constexpr std::string_view kValidatePolicyPath =
    "/validate-kupid-gardener-cloud-v1alpha1-podschedulingpolicy";
inline constexpr std::string_view kValidateClusterPolicyPath =
    "/validate-kupid-gardener-cloud-v1alpha1-clusterpodschedulingpolicy";

// Events about pods that admission has missed.
inline constexpr std::string_view kReasonPoliciesAdded = "SchedulingPoliciesAdded";
inline constexpr std::string_view kReasonPoliciesMissed = "SchedulingPoliciesMissed";

}  // namespace policy
