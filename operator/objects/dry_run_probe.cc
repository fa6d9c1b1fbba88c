// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/dry_run_probe.h"

#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using kube::Json;

// A Deployment that every admission policy accepts. It has no label of the operator's objects,
// because it is not one of them.
Json ProbeDeployment(const DryRunProbe& probe, const OperandOptions& options) {
  const Json labels = {{std::string(probe.label), probe.label_value}};
  Json container = {{"name", "probe"},
                    {"image", options.webhook_image},
                    {"resources",
                     {{"requests", {{"cpu", "10m"}, {"memory", "24Mi"}}},
                      {"limits", {{"cpu", "500m"}, {"memory", "64Mi"}}}}},
                    {"securityContext",
                     {{"allowPrivilegeEscalation", false},
                      {"readOnlyRootFilesystem", true},
                      {"capabilities", {{"drop", {"ALL"}}}}}}};
  Json pod = {{"automountServiceAccountToken", false},
              {"securityContext",
               {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
              {"containers", Json::array({std::move(container)})}};
  return {{"apiVersion", kube::kDeployments.ApiVersion()},
          {"kind", std::string(kube::kDeployments.kind)},
          {"metadata", {{"name", probe.name}, {"namespace", options.ns}, {"labels", labels}}},
          {"spec",
           {{"replicas", 0},
            {"selector", {{"matchLabels", labels}}},
            {"template", {{"metadata", {{"labels", labels}}}, {"spec", std::move(pod)}}}}}};
}

}  // namespace

kube::Async<std::string> AnnotationOf(kube::Client& client, DryRunProbe probe,
                                      const OperandOptions& options) {
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::kDeployments.Path(options.ns),
                           .content_type = std::string(kube::kJson),
                           .accept = std::string(kube::kJson),
                           .body = kube::DumpJson(ProbeDeployment(probe, options))};
  kube::AddQuery(request.target, "dryRun", "All");
  kube::Result<kube::Unstructured> answer =
      co_await kube::CallFor<kube::Unstructured>(client, std::move(request));
  if (!answer) co_return answer.error();
  const auto& annotations = answer->metadata().annotations();
  auto found = annotations.find(std::string(probe.annotation));
  co_return found == annotations.end() ? std::string() : found->second;
}

}  // namespace operator_
