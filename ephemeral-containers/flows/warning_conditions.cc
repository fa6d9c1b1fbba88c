// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/flows/warning_conditions.h"

#include <string>

#include "e2e/framework/resources.h"
#include "ephemeral-containers/names.h"
#include "kube/client/typed.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

Condition WarningWebhookRemoved() {
  return {.name = "the webhook of ephemeral containers is removed",
          .holds = [](Scene& scene) -> Result<> {
            auto configuration = scene.Get(kValidatingWebhookConfigurations,
                                           std::string(ephemeral::kWebhookConfigurationName));
            if (!IsNotFound(configuration)) return Error::Internal("its configuration exists");
            Cluster& cluster = scene.cluster();
            const std::string name(ephemeral::kWebhookName);
            for (const Resource& resource : {kDeployments, kServices, kServiceAccounts, kSecrets,
                                             kNetworkPolicies, kPodDisruptionBudgets}) {
              kube::ObjectKey key{cluster.operator_namespace(), name};
              auto object = cluster.Run(kube::GetObject(cluster.client(), resource, key));
              if (!IsNotFound(object))
                return Error::Internal("its " + std::string(resource.kind) + " exists");
            }
            return Ok();
          }};
}

}  // namespace e2e
