// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/flows/policy_conditions.h"

#include <utility>

#include "e2e/framework/conditions.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"
#include "scheduling-policies/webhook/replica.h"

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;
using policy::kPodSchedulingPolicies;

Json MarkOfPolicy(const std::string& value) {
  return {{"key", "policy"}, {"operator", "Equal"}, {"value", value}, {"effect", "NoSchedule"}};
}

Json MakePolicy(const std::string& name, const std::string& value) {
  return {{"apiVersion", kPodSchedulingPolicies.ApiVersion()},
          {"kind", std::string(kPodSchedulingPolicies.kind)},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"podSelector", {{"matchLabels", {{"app", "web"}}}}},
            {"tolerations", Json::array({MarkOfPolicy(value)})}}}};
}

Condition PolicyReady(const std::string& name) {
  return HasStatusCondition(kPodSchedulingPolicies, name, "Ready", "True", "InForce");
}

Condition PolicyWebhookRemoved() {
  return {.name = "the policy webhook is removed", .holds = [](Scene& scene) -> Result<> {
            auto configuration = scene.Get(kMutatingWebhookConfigurations,
                                           std::string(policy::kWebhookConfigurationName));
            if (!IsNotFound(configuration)) return Error::Internal("its configuration exists");
            Cluster& cluster = scene.cluster();
            for (const Resource& resource : {kDeployments, kServices, kServiceAccounts, kSecrets,
                                             kNetworkPolicies, kPodDisruptionBudgets}) {
              kube::ObjectKey key{cluster.operator_namespace(), std::string(policy::kWebhookName)};
              auto object = cluster.Run(kube::GetObject(cluster.client(), resource, key));
              if (!IsNotFound(object))
                return Error::Internal("its " + std::string(resource.kind) + " exists");
            }
            kube::ListOptions replicas{.ns = cluster.operator_namespace(),
                                       .label_selector = policy::ReplicaSelector()};
            auto leases =
                cluster.Run(kube::ListObjects(cluster.client(), kLeases, std::move(replicas)));
            if (!leases) return leases.error();
            if (!leases->items.empty()) return Error::Internal("a Lease of a replica exists");
            return Ok();
          }};
}

}  // namespace e2e
