// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_webhooks.h"

#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/field_error.h"
#include "api/names.h"
#include "kube/client/typed.h"
#include "scheduling-policies/budget.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/operator/cross_namespace_quota.h"
#include "scheduling-policies/operator/policy_count.h"
#include "scheduling-policies/target.h"
#include "scheduling-policies/warnings.h"

namespace operator_ {
namespace {

using api::ClusterPodPlacementConfig;
using kube::AdmissionRequest;
using kube::AdmissionResponse;
using kube::Async;
using kube::Json;
using kube::Result;

// The API server waits ten seconds for an answer. Together, the reads end two seconds before.
constexpr std::chrono::seconds kCountWithin{1};
constexpr std::chrono::seconds kReadConfigWithin{1};
constexpr std::chrono::seconds kReadQuotasWithin{5};

AdmissionResponse Invalid(std::string message) {
  return AdmissionResponse::Denied(422, "Invalid", std::move(message));
}

AdmissionResponse TooMany(const std::string& ns, size_t count) {
  return Invalid("namespace " + ns + " has " + std::to_string(count) +
                 " PodSchedulingPolicies, at most " +
                 std::to_string(policy::kMaxNamespacePolicies) + " are allowed: delete some");
}

// null if absent.
Json SpecOf(const Json& object) {
  const Json* spec = kube::Find(object, "spec");
  return spec == nullptr ? Json() : *spec;
}

bool IsBeingDeleted(const Json& object) {
  return !kube::StringAt(object, "metadata.deletionTimestamp").empty();
}

}  // namespace

void PolicyWebhooks::AddTo(kube::HttpsServer& server) {
  auto add = [&](std::string_view path, policy::Scope scope) {
    server.Handle("POST", std::string(path),
                  kube::ReviewHandler([this, scope](AdmissionRequest request) {
                    return Validate(scope, std::move(request));
                  }));
  };
  add(policy::kValidatePolicyPath, policy::Scope::kNamespace);
  add(policy::kValidateClusterPolicyPath, policy::Scope::kCluster);
}

Async<AdmissionResponse> PolicyWebhooks::Validate(policy::Scope scope, AdmissionRequest request) {
  if (request.operation != "CREATE" && request.operation != "UPDATE")
    co_return AdmissionResponse::Allowed();
  Result<Json> object = kube::ParseJson(request.object_json);
  if (!object) co_return Invalid(object.error().message());
  if (request.operation == "UPDATE") {
    Result<Json> old_object = kube::ParseJson(request.old_object_json);
    if (!old_object) co_return Invalid(old_object.error().message());
    if (IsBeingDeleted(*object) || SpecOf(*old_object) == SpecOf(*object))
      co_return AdmissionResponse::Allowed();
  }
  Result<policy::SchedulingPolicy> policy = policy::SchedulingPolicy::FromJson(*object, scope);
  if (!policy) co_return Invalid(policy.error().message());
  if (!policy->problems.empty()) co_return Invalid(api::Describe(policy->problems));
  policy->ns = request.ns;
  if (request.operation == "CREATE" && !policy->of_cluster()) {
    Result<size_t> count = co_await CountPolicies(client_, policy->ns, kCountWithin);
    if (!count) co_return count.error();
    if (*count >= policy::kMaxNamespacePolicies) co_return TooMany(policy->ns, *count);
  }
  Result<AdmissionResponse> allowed = co_await Allow(*policy);
  co_return allowed;
}

Async<AdmissionResponse> PolicyWebhooks::Allow(const policy::SchedulingPolicy& policy) {
  kube::TimePoint deadline = clock_.Now() + kReadQuotasWithin;
  std::vector<std::string> warnings = policy::WarningsFor(policy);
  if (!policy.of_cluster() && policy::IsExcludedNamespace(policy.ns, {}, operator_namespace_))
    warnings.push_back("policies have no effect in namespace " + policy.ns);
  Result<std::string> without_effect = co_await WhyWithoutEffect();
  if (without_effect && !without_effect->empty()) warnings.push_back(std::move(*without_effect));
  Result<std::vector<std::string>> quotas =
      co_await QuotaWarnings(client_, clock_, policy, operator_namespace_, deadline);
  if (quotas) warnings.insert(warnings.end(), quotas->begin(), quotas->end());

  AdmissionResponse answer = AdmissionResponse::Allowed();
  for (std::string& warning : warnings) answer = std::move(answer).Warn(std::move(warning));
  co_return answer;
}

Async<std::string> PolicyWebhooks::WhyWithoutEffect() {
  const kube::Resource& kind = kube::ResourceOf<ClusterPodPlacementConfig>::value;
  kube::ApiRequest request{.target = kind.Path("", api::kClusterConfigName),
                           .timeout = kReadConfigWithin};
  Result<ClusterPodPlacementConfig> config =
      co_await kube::CallFor<ClusterPodPlacementConfig>(client_, std::move(request));
  if (!config && !IsNotFound(config)) co_return config.error();
  std::string why;
  if (!config || config->EnabledSchedulingPolicies() == nullptr) {
    why =
        "the policy has no effect until plugins.schedulingPolicies of the "
        "ClusterPodPlacementConfig is enabled";
  }
  co_return why;
}

}  // namespace operator_
