// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/pod_policy.h"

#include <memory>

#include "e2e/framework/flow.h"
#include "e2e/framework/resources.h"
#include "e2e/framework/steps.h"

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

void RefusePods(Scene& scene, const std::string& expression, const std::string& message,
                const PodBuilder& probe) {
  Json policy = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                 {"kind", "ValidatingAdmissionPolicy"}};
  policy["metadata"]["name"] = scene.ns();
  Json rule = {{"apiGroups", {""}}, {"apiVersions", {"v1"}}, {"resources", {"pods"}}};
  rule["operations"] = Json::array({"CREATE", "UPDATE"});
  policy["spec"]["matchConstraints"]["resourceRules"] = Json::array({rule});
  policy["spec"]["validations"] =
      Json::array({{{"expression", expression}, {"message", message}, {"reason", "Forbidden"}}});
  Json binding = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                  {"kind", "ValidatingAdmissionPolicyBinding"}};
  binding["metadata"]["name"] = scene.ns();
  binding["spec"]["policyName"] = scene.ns();
  binding["spec"]["validationActions"] = Json::array({"Deny"});
  binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"]
         ["kubernetes.io/metadata.name"] = scene.ns();

  auto probes = std::make_shared<int>(0);
  Condition in_force{"the policy is in force",
                     [probes, probe](Scene& scene) -> Result<> {
                       Json pod = probe.Build();
                       pod["metadata"]["name"] = "probe-" + std::to_string((*probes)++);
                       if (scene.Create(kPods, pod)) return Error::NotFound("a refusal");
                       return Ok();
                     },
                     ""};
  Flow(scene, "a policy refuses pods")
      .Do(Create(kube::kValidatingAdmissionPolicies, policy))
      .Do(Create(kube::kValidatingAdmissionPolicyBindings, binding))
      .Await(in_force);
}

void AllowPods(Scene& scene) {
  for (const Resource& resource :
       {kube::kValidatingAdmissionPolicyBindings, kube::kValidatingAdmissionPolicies})
    kube::IgnoreError(scene.Delete(resource, scene.ns()), "it may be absent");
}

}  // namespace e2e
