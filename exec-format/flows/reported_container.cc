// SPDX-License-Identifier: Apache-2.0
#include "exec-format/flows/reported_container.h"

#include <utility>

#include "e2e/framework/conditions.h"
#include "e2e/framework/resources.h"
#include "exec-format/e_no_exec_event.h"
#include "kube/client/typed.h"

namespace e2e {

kube::Result<> PatchStatus(Scene& scene, const kube::Resource& resource, kube::ObjectKey key,
                           const Json& status) {
  Cluster& cluster = scene.cluster();
  Json patch = {{"status", status}};
  auto patched =
      cluster.Run(kube::PatchObject(cluster.client(), resource, std::move(key), kube::kMergePatch,
                                    std::move(patch), std::string("status")));
  if (!patched) return patched.error();
  return kube::Ok();
}

Condition Runs(const std::string& pod) {
  return OfPod(pod, "runs",
               [](const Json& json) { return kube::StringAt(json, "status.phase") == "Running"; });
}

std::string ContainerId() { return "containerd://" + std::string(64, 'a'); }

Step ReportContainer(const std::string& pod, const std::string& container_id) {
  return {.name = "report the container of " + pod, .act = [=](Scene& scene) -> kube::Result<> {
            Json container = {{"name", "c0"},    {"containerID", container_id},
                              {"image", "demo"}, {"imageID", "demo"},
                              {"ready", true},   {"restartCount", 0}};
            Json status = {{"containerStatuses", Json::array({std::move(container)})}};
            return PatchStatus(scene, kPods, {scene.ns(), pod}, status);
          }};
}

Step ReportFailure(const std::string& name, const std::string& pod, const std::string& node, By by,
                   const std::string& command) {
  return {
      .name = "report an exec format error of " + pod, .act = [=](Scene& scene) -> kube::Result<> {
        using exec_format::ENoExecEvent;
        Cluster& cluster = scene.cluster();
        auto found = scene.Get(kPods, pod);
        if (!found) return found.error();
        ENoExecEvent event;
        event.mutable_metadata()->set_name(name);
        event.mutable_metadata()->set_namespace_(cluster.operator_namespace());
        auto created = cluster.Run(kube::Create(cluster.client(), event));
        if (!created) return created.error();
        Json status = {{"nodeName", node}, {"containerID", ContainerId()}, {"command", command}};
        if (by == By::kName) {
          status["podNamespace"] = scene.ns();
          status["podName"] = pod;
        } else {
          status["podUID"] = kube::StringAt(*found, "metadata.uid");
        }
        return PatchStatus(scene, kube::ResourceOf<ENoExecEvent>::value, kube::KeyOf(event),
                           status);
      }};
}

}  // namespace e2e
