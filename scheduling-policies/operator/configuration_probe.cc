// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/configuration_probe.h"

#include <utility>

#include "api/names.h"
#include "operator/objects/dry_run_probe.h"

namespace operator_ {

kube::Async<bool> IsConfigured(kube::Client& client, std::string hash,
                               const OperandOptions& options) {
  DryRunProbe probe{.name = std::string(api::kPolicyWebhookName) + "-probe",
                    .label = api::kPolicyProbeLabel,
                    .label_value = "true",
                    .annotation = api::kPolicyProbeAnnotation};
  kube::Result<std::string> answer = co_await AnnotationOf(client, std::move(probe), options);
  if (!answer) co_return answer.error().Prefix("probe of the policy webhook");
  co_return *answer == hash;
}

}  // namespace operator_
