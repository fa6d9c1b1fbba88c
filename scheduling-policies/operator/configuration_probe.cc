// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/configuration_probe.h"

#include <utility>

#include "operator/objects/dry_run_probe.h"
#include "scheduling-policies/names.h"

namespace operator_ {

kube::Async<bool> IsConfigured(kube::Client& client, std::string hash,
                               const OperandOptions& options) {
  DryRunProbe probe{.name = std::string(policy::kWebhookName) + "-probe",
                    .label = policy::kProbeLabel,
                    .label_value = "true",
                    .annotation = policy::kProbeAnnotation};
  kube::Result<std::string> answer = co_await AnnotationOf(client, std::move(probe), options);
  if (!answer) co_return answer.error().Prefix("probe of the policy webhook");
  co_return *answer == hash;
}

}  // namespace operator_
