// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/steps.h"

#include "e2e/framework/resources.h"

namespace e2e {

using kube::Error;
using kube::IsNotFound;
using kube::ObjectKey;
using kube::Ok;
using kube::Resource;
using kube::Result;

namespace {

std::string Describe(const Resource& resource, const std::string& name) {
  return std::string(resource.kind) + " " + name;
}

}  // namespace

Step Create(const Resource& resource, Json object) {
  std::string name =
      kube::StringAt(object, "metadata.name", kube::StringAt(object, "metadata.generateName"));
  return {.name = "create " + Describe(resource, name),
          .act = [resource, object = std::move(object)](Scene& scene) -> Result<> {
            Result<Json> created = scene.Create(resource, object);
            if (!created) return created.error();
            return Ok();
          },
          .pod = resource.kind == kPods.kind ? name : ""};
}

Step Create(const PodBuilder& pod) { return Create(kPods, pod.Build()); }
Step Create(const DeploymentBuilder& deployment) {
  return Create(kDeployments, deployment.Build());
}
Step Create(const ConfigBuilder& config) { return Create(kConfigs, config.Build()); }
Step Create(const ClusterConfigBuilder& config) { return Create(kClusterConfigs, config.Build()); }

Step Change(const Resource& resource, const std::string& name, Json patch) {
  return {.name = "change " + Describe(resource, name) + " by " + kube::DumpJson(patch),
          .act = [resource, name, patch](Scene& scene) -> Result<> {
            Result<Json> changed = scene.Patch(resource, name, patch);
            if (!changed) return changed.error();
            return Ok();
          }};
}

Step Delete(const Resource& resource, const std::string& name) {
  return {.name = "delete " + Describe(resource, name),
          .act = [resource, name](Scene& scene) -> Result<> {
            Result<> deleted = scene.Delete(resource, name);
            if (!deleted && !IsNotFound(deleted)) return deleted.error();
            return Ok();
          }};
}

namespace {

// Calls `act` for every pod with the label; kNotFound if there is none.
Step ForPods(const std::string& what, const std::string& label_selector,
             std::function<Result<>(Scene&, const std::string&)> act) {
  return {.name = what + " the pods with " + label_selector,
          .act = [label_selector, act = std::move(act)](Scene& scene) -> Result<> {
            Result<std::vector<Json>> pods = scene.List(kPods, label_selector);
            if (!pods) return pods.error();
            if (pods->empty()) return Error::NotFound("no pod has " + label_selector);
            for (const Json& pod : *pods) {
              Result<> done = act(scene, kube::StringAt(pod, "metadata.name"));
              if (!done && !IsNotFound(done)) return done.error();
            }
            return Ok();
          }};
}

}  // namespace

Step DeletePods(const std::string& label_selector) {
  return ForPods("delete", label_selector,
                 [](Scene& scene, const std::string& pod) { return scene.Delete(kPods, pod); });
}

Step CrashPods(const std::string& label_selector) {
  return ForPods("crash", label_selector, [](Scene& scene, const std::string& pod) {
    return scene.cluster().Crash({scene.ns(), pod});
  });
}

}  // namespace e2e
