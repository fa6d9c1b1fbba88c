// SPDX-License-Identifier: Apache-2.0
// PoliciesHarness: a Harness with scheduling policies. The test acts as the replicas of the policy
// webhook, and as the API server that uses the newest webhook configuration, or not yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/coordination.pb.h"
#include "operator/testing/harness.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/operator/policy_feature.h"
#include "scheduling-policies/scheduling_policy.h"
#include "scheduling-policies/webhook/replica.h"

namespace operator_ {

// The fake API server, with dry runs: nothing is stored, and the policy webhook's annotation is
// added as the stored configuration says.
class DryRunClient final : public kube::Client {
 public:
  explicit DryRunClient(kube::FakeApiServer& api) : api_(api) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (request.target.find("dryRun=All") == std::string::npos)
      co_return co_await api_.Call(std::move(request));
    ++dry_runs;
    if (refuse) co_return kube::Error::FromHttpStatus(403, "Forbidden", "no, says a policy");
    kube::Json object = kube::MustParseJson(request.body);
    std::optional<kube::Json> configuration = api_.GetJson(
        kube::kMutatingWebhookConfigurations, {"", std::string(policy::kWebhookConfigurationName)});
    if (configured && configuration) {
      std::string path = (*configuration)["webhooks"].back()["clientConfig"]["service"]["path"];
      object["metadata"]["annotations"][std::string(policy::kProbeAnnotation)] =
          path.substr(policy::kProbePathPrefix.size());
    }
    co_return kube::ApiResponse{
        .status = 201, .content_type = std::string(kube::kJson), .body = kube::DumpJson(object)};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    return api_.Watch(std::move(request));
  }

  // The API server uses the newest configuration.
  bool configured = true;
  // Another admission policy refuses the dry run.
  bool refuse = false;
  int dry_runs = 0;

 private:
  kube::FakeApiServer& api_;
};

class PoliciesHarness : public Harness {
 public:
  PoliciesHarness() {
    client = &dry_run;
    features.push_back(NewPolicyFeature(dry_run, clock, "ops"));
  }
  ~PoliciesHarness() { StopOperator(); }

  static constexpr kube::Resource kPolicies = policy::kPodSchedulingPolicies;
  static constexpr kube::Resource kClusterPolicies = policy::kClusterPodSchedulingPolicies;

  void SetPlugin(bool enabled) {
    kube::Json config = *api.GetJson(kClusterConfigs, {"", "cluster"});
    config["spec"]["plugins"]["schedulingPolicies"] = {{"enabled", enabled}};
    api.UpdateJson(kClusterConfigs, config);
  }
  // With generation 1, or the next one. A policy without a namespace is one of the cluster.
  void PutPolicy(const std::string& ns, const std::string& name,
                 kube::Json spec = {{"podSelector", kube::Json::object()},
                                    {"schedulerName", "s"}}) {
    const kube::Resource& kind = ns.empty() ? kClusterPolicies : kPolicies;
    std::optional<kube::Json> policy = api.GetJson(kind, {ns, name});
    if (policy) {
      (*policy)["metadata"]["generation"] = kube::IntAt(*policy, "metadata.generation") + 1;
      (*policy)["spec"] = std::move(spec);
      api.UpdateJson(kind, *policy);
      return;
    }
    kube::Json created = {{"apiVersion", kind.ApiVersion()},
                          {"kind", std::string(kind.kind)},
                          {"metadata", {{"name", name}, {"generation", 1}}},
                          {"spec", std::move(spec)}};
    if (!ns.empty()) created["metadata"]["namespace"] = ns;
    api.CreateJson(kind, created);
  }
  void DeletePolicy(const std::string& ns, const std::string& name) {
    api.DeleteJson(ns.empty() ? kClusterPolicies : kPolicies, {ns, name});
  }
  // "True InForce"
  std::string Ready(const std::string& ns, const std::string& name) {
    return ConditionOf(api.GetJson(ns.empty() ? kClusterPolicies : kPolicies, {ns, name}), "Ready");
  }
  std::string Accepted(const std::string& ns, const std::string& name) {
    return ConditionOf(api.GetJson(ns.empty() ? kClusterPolicies : kPolicies, {ns, name}),
                       "Accepted");
  }
  std::string ReadyMessage(const std::string& ns, const std::string& name) {
    return MessageOf(api.GetJson(ns.empty() ? kClusterPolicies : kPolicies, {ns, name}), "Ready");
  }

  // A replica that has seen all policies until now renews its Lease, or creates it.
  void Renew(const std::string& replica) { Renew(replica, api.resource_version()); }
  void Renew(const std::string& replica, uint64_t seen) {
    kube::coordination::Lease lease;
    lease.mutable_metadata()->set_name(replica);
    lease.mutable_metadata()->set_namespace_("ops");
    lease.mutable_spec()->set_holder_identity(replica + std::to_string(++renewals_));
    policy::WriteReplica({.policies = seen, .cluster_policies = seen}, lease);
    api.Get<kube::coordination::Lease>({"ops", replica}) ? api.Update(lease) : api.Create(lease);
  }
  bool HasLease(const std::string& replica) {
    return api.Get<kube::coordination::Lease>({"ops", replica}).has_value();
  }
  // The process ends as asked.
  void EndReplica(const std::string& replica) {
    if (HasLease(replica)) api.Delete<kube::coordination::Lease>({"ops", replica});
  }

  bool Deployed() { return Exists(kube::kDeployments, {"ops", std::string(policy::kWebhookName)}); }
  std::optional<kube::Json> Configuration() {
    return api.GetJson(kube::kMutatingWebhookConfigurations,
                       {"", std::string(policy::kWebhookConfigurationName)});
  }
  // True if no object of the policy webhook is left.
  bool PolicyWebhookRemoved() {
    const kube::ObjectKey key{"ops", std::string(policy::kWebhookName)};
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kPodDisruptionBudgets,
          kube::kNetworkPolicies}) {
      if (Exists(resource, key)) return false;
    }
    return !Configuration() && !SecretExists(key) &&
           api.List<kube::coordination::Lease>("ops").empty();
  }
  // Both replicas of the webhook run.
  void RunReplicas() {
    Renew("one");
    Renew("two");
    RollOut("ops", policy::kWebhookName);
  }
  // A ClusterPodPlacementConfig with the plugin, policy shop/a, and the webhook that applies it.
  bool BringUpPolicies() {
    if (!BringUpCluster()) return false;
    SetPlugin(true);
    PutPolicy("shop", "a");
    if (!Await([&] { return Deployed(); })) return false;
    RunReplicas();
    return Await([&] { return Ready("shop", "a") == "True InForce"; });
  }

  DryRunClient dry_run{api};

 private:
  int renewals_ = 0;
};

}  // namespace operator_
