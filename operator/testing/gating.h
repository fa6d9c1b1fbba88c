// SPDX-License-Identifier: Apache-2.0
// GatingHarness: a Harness whose API server applies policies that gate pods, or not yet, or does
// not know them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/client/client.h"
#include "operator/objects/gating_policies.h"
#include "operator/testing/harness.h"

namespace operator_ {

// The fake API server, with the dry run of the probe: nothing is stored.
class GatingPolicyClient final : public kube::Client {
 public:
  explicit GatingPolicyClient(kube::FakeApiServer& api) : api_(api) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (!serves && IsOfGatingPolicies(request)) co_return NotServed();
    if (request.target.find("dryRun=All") == std::string::npos)
      co_return co_await api_.Call(std::move(request));
    // Any rule is valid.
    if (request.target.find("/deployments") == std::string::npos) {
      co_return kube::ApiResponse{
          .status = 201, .content_type = std::string(kube::kJson), .body = std::move(request.body)};
    }
    ++probes;
    if (refuse) co_return kube::Error::FromHttpStatus(403, "Forbidden", "no, says a policy");
    kube::Json object = kube::MustParseJson(request.body);
    std::string key(kGatingProbeLabel);
    std::string asked = object["metadata"]["labels"][key];
    if (applies && asked == Nonce())
      object["metadata"]["annotations"][std::string(kGatingProbeAnnotation)] = asked;
    co_return kube::ApiResponse{
        .status = 201, .content_type = std::string(kube::kJson), .body = kube::DumpJson(object)};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    if (serves || !IsOfGatingPolicies(request)) return api_.Watch(std::move(request));
    return Refuse();
  }

  // The nonce of the stored probe.
  std::string Nonce() const {
    std::optional<kube::Json> binding =
        api_.GetJson(kube::kMutatingAdmissionPolicyBindings, {"", std::string(kGatingProbeName)});
    if (!binding) return "";
    return (*binding)["spec"]["matchResources"]["objectSelector"]["matchLabels"].value(
        std::string(kGatingProbeLabel), "");
  }

  bool serves = true;
  bool applies = true;
  // Another admission policy refuses the dry run.
  bool refuse = false;
  int probes = 0;

 private:
  static bool IsOfGatingPolicies(const kube::ApiRequest& request) {
    return request.target.find("/mutatingadmissionpolic") != std::string::npos;
  }
  static kube::Error NotServed() {
    return kube::Error::FromHttpStatus(404, "NotFound",
                                       "the server could not find the requested resource");
  }
  static kube::Async<std::unique_ptr<kube::WatchStream>> Refuse() { co_return NotServed(); }

  kube::FakeApiServer& api_;
};

class GatingHarness : public Harness {
 public:
  GatingHarness() { client = &gating_policy_client; }
  ~GatingHarness() { StopOperator(); }

  void SetGating(const std::string& gating) {
    kube::Json config = *api.GetJson(kClusterConfigs, {"", "cluster"});
    config["spec"]["gating"] = gating;
    api.UpdateJson(kClusterConfigs, config);
  }
  void CreateClusterConfigByPolicy() {
    CreateClusterConfig();
    SetGating("Policy");
  }
  // Names of the stored policies, and of bindings with "-binding".
  std::vector<std::string> Policies() {
    std::vector<std::string> names;
    for (const kube::Json& policy : api.ListJson(kube::kMutatingAdmissionPolicies))
      names.push_back(kube::StringAt(policy, "metadata.name"));
    for (const kube::Json& binding : api.ListJson(kube::kMutatingAdmissionPolicyBindings))
      names.push_back(kube::StringAt(binding, "metadata.name") + "-binding");
    return names;
  }
  bool HasPolicy(std::string_view name) {
    return Exists(kube::kMutatingAdmissionPolicies, {"", std::string(name)}) &&
           Exists(kube::kMutatingAdmissionPolicyBindings, {"", std::string(name)});
  }
  bool ClusterConfigured() {
    return Exists(kube::kMutatingWebhookConfigurations,
                  {"", std::string(api::kMutatingWebhookConfigurationName)});
  }
  // No object that serves a webhook is in the namespace.
  bool WebhookRemoved(const std::string& ns, std::string_view name) {
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kPodDisruptionBudgets,
          kube::kNetworkPolicies}) {
      if (Exists(resource, {ns, std::string(name)})) return false;
    }
    return !SecretExists({ns, std::string(name)});
  }

  GatingPolicyClient gating_policy_client{api};
};

}  // namespace operator_
