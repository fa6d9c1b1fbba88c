// SPDX-License-Identifier: Apache-2.0
// ClusterPodPlacementConfig v1alpha1, as in manifests for the Go operator: the API server calls the
// operator's conversion webhook, and a round trip loses nothing.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

constexpr Resource kOlder{api::kGroup, "v1alpha1", "clusterpodplacementconfigs",
                          "ClusterPodPlacementConfig", false};
const std::string kCluster(api::kClusterConfigName);
const std::string kOlderVersion = std::string(api::kGroup) + "/v1alpha1";

class ConversionFlow : public FlowFixture {};

// The spec of `resource` has `wanted` at `path`; null: no such field.
Condition Shows(const Resource& resource, const std::string& path, const Json& wanted) {
  return {
      .name = std::string(resource.version) + " has " + kube::DumpJson(wanted) + " as spec" + path,
      .holds = [resource, path, wanted](Scene& scene) -> kube::Result<> {
        kube::Result<Json> object = scene.Get(resource, kCluster);
        if (!object) return object.error();
        if (kube::StringAt(*object, "apiVersion") != resource.ApiVersion()) {
          return kube::Error::NotFound("it is " + kube::StringAt(*object, "apiVersion"));
        }
        const Json spec = object->value("spec", Json::object());
        Json::json_pointer at(path);
        Json found = spec.contains(at) ? spec[at] : Json();
        if (found != wanted) return kube::Error::NotFound("it has " + kube::DumpJson(found));
        return kube::Ok();
      }};
}

TEST_F(ConversionFlow, WorksAndLosesNothing) {
  Json selector = {{"matchLabels", {{kSceneLabel, "true"}}}};
  Flow(scene(), "created as v1alpha1")
      .Await(NoConfigAnywhere())
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Absent(kClusterConfigs, kCluster))
      .Do(Create(kOlder, {{"apiVersion", kOlderVersion},
                          {"kind", "ClusterPodPlacementConfig"},
                          {"metadata", {{"name", kCluster}}},
                          {"spec", {{"logVerbosity", "Debug"}, {"namespaceSelector", selector}}}}))
      .Check(Shows(kClusterConfigs, "/logVerbosity", "Debug"))
      .Check(Shows(kClusterConfigs, "/namespaceSelector", selector))
      .Check(Shows(kOlder, "/logVerbosity", "Debug"))
      .Await(ClusterConfigReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(OfPod("web", "came with the cluster's gate", [](const Json& pod) {
        return pod["metadata"].value("labels", Json::object()).contains(api::kClusterGateLabel);
      }));

  // Fields that only v1beta1 has survive a write as v1alpha1.
  Json platforms = Json::array({{{"architecture", "arm64"}, {"weight", 7}}});
  Flow(scene(), "round trip")
      .Do(Change(kClusterConfigs, kCluster,
                 {{"spec",
                   {{"fallbackArchitecture", "arm64"},
                    {"plugins",
                     {{"nodeAffinityScoring", {{"enabled", true}, {"platforms", platforms}}}}}}}}))
      .Check(Shows(kOlder, "/fallbackArchitecture", nullptr))
      .Check(Shows(kOlder, "/plugins", nullptr))
      .Do(Change(kOlder, kCluster, {{"spec", {{"logVerbosity", "Trace"}}}}))
      .Check(Shows(kClusterConfigs, "/logVerbosity", "Trace"))
      .Check(Shows(kClusterConfigs, "/fallbackArchitecture", "arm64"))
      .Check(Shows(kClusterConfigs, "/plugins/nodeAffinityScoring/platforms", platforms))
      .Refused(Change(kOlder, kCluster, {{"spec", {{"logVerbosity", "Loud"}}}}), {"logVerbosity"});
}

}  // namespace
}  // namespace e2e
