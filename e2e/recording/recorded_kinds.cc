// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/recorded_kinds.h"

#include <string>

#include "api/names.h"
#include "kube/types/kinds.h"

namespace e2e {

using kube::Json;
using kube::Resource;

namespace {

constexpr std::string_view kPolicies = "kupid.gardener.cloud";

// All that store something of the object. Not serviceaccounts/token.
constexpr const char* kSubresources[] = {
    "", "/status", "/scale", "/finalize", "/binding", "/ephemeralcontainers", "/resize"};

}  // namespace

std::vector<Resource> RecordedKinds() {
  return {
      kube::kPods,
      kube::kNamespaces,
      {api::kGroup, "v1beta1", "podplacementconfigs", "PodPlacementConfig"},
      {api::kGroup, "v1beta1", "clusterpodplacementconfigs", "ClusterPodPlacementConfig", false},
      {kPolicies, "v1alpha1", "podschedulingpolicies", "PodSchedulingPolicy"},
      {kPolicies, "v1alpha1", "clusterpodschedulingpolicies", "ClusterPodSchedulingPolicy", false},
      kube::kEvents,
      kube::kLeases,
      kube::kSecrets,
      kube::kConfigMaps,
      kube::kServices,
      kube::kServiceAccounts,
      kube::kDeployments,
      kube::kDaemonSets,
      {"batch", "v1", "jobs", "Job"},
      kube::kNetworkPolicies,
      kube::kPodDisruptionBudgets,
      kube::kRoles,
      kube::kRoleBindings,
      kube::kClusterRoleBindings,
      kube::kMutatingWebhookConfigurations,
      kube::kValidatingWebhookConfigurations,
      kube::kMutatingAdmissionPolicies,
      kube::kMutatingAdmissionPolicyBindings,
      kube::kValidatingAdmissionPolicies,
      kube::kValidatingAdmissionPolicyBindings};
}

Json AuditRuleForRecordings() {
  Json resources = Json::array();
  for (const Resource& kind : RecordedKinds()) {
    if (kind.plural == kube::kEvents.plural) continue;
    Json names = Json::array();
    for (const char* subresource : kSubresources)
      names.push_back(std::string(kind.plural) + subresource);
    resources.push_back({{"group", std::string(kind.group)}, {"resources", std::move(names)}});
  }
  return {{"level", "RequestResponse"},
          {"verbs", {"create", "update", "patch", "delete", "deletecollection"}},
          {"resources", std::move(resources)},
          {"omitStages", {"RequestReceived", "ResponseStarted"}}};
}

}  // namespace e2e
