// SPDX-License-Identifier: Apache-2.0
// The ClusterPodPlacementConfig in its older version, as manifests for the peer have it: the API
// server has the operator convert, and nothing is lost on the way there and back.
#include "e2e/framework/flow_test.h"

namespace e2e {
namespace {

constexpr Resource kOlder{api::kGroup, "v1alpha1", "clusterpodplacementconfigs",
                          "ClusterPodPlacementConfig", false};
const std::string kCluster(api::kClusterConfigName);
const std::string kOlderVersion = std::string(api::kGroup) + "/v1alpha1";

class OlderVersionFlow : public FlowTest {};

// As `resource` shows it, its spec has this at `path`; null: nothing.
Condition Shows(const Resource& resource, const std::string& path, const Json& wanted) {
  return {.name = std::string(resource.version) + " has " + wanted.dump() + " as spec" + path,
          .holds = [resource, path, wanted](Scene& scene) -> kube::Result<> {
            kube::Result<Json> object = scene.Get(resource, kCluster);
            if (!object) return object.error();
            if (kube::StringAt(*object, "apiVersion") != resource.ApiVersion()) {
              return kube::Error::NotFound("it is " + kube::StringAt(*object, "apiVersion"));
            }
            const Json spec = object->value("spec", Json::object());
            Json::json_pointer at(path);
            Json found = spec.contains(at) ? spec[at] : Json();
            if (found != wanted) return kube::Error::NotFound("it has " + found.dump());
            return kube::Ok();
          }};
}

TEST_F(OlderVersionFlow, OfTheClustersConfigWorksAndLosesNothing) {
  Json selector = {{"matchLabels", {{kSceneLabel, "true"}}}};
  Flow(scene(), "created in the older version")
      .Await(NoConfigAnywhere())
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Gone(kClusterConfigs, kCluster))
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

  // What only the newer version has survives a write through the older one.
  Json platforms = Json::array({{{"architecture", "arm64"}, {"weight", 7}}});
  Flow(scene(), "there and back")
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
