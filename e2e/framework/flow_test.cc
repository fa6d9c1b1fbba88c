// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/flow_test.h"

#include <algorithm>

#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::IsNotFound;
using kube::Ok;
using kube::Result;

namespace {

constexpr const char* kRegistriesName = "e2e-registries";
// No test waits longer than it must.
constexpr const char* kShortPeriod = "5s";

// The registry of the tests speaks plain HTTP, which nobody may do who was not told.
Json RegistriesConfigMap(Cluster& cluster, const std::string& more) {
  Json config_map = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  config_map["metadata"] = {{"name", kRegistriesName}, {"namespace", cluster.operator_namespace()}};
  config_map["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + cluster.registry() + "\"\ninsecure = true\n" + more;
  return config_map;
}

// Creates the cluster's config, or replaces the spec of the one that is there.
Result<> WriteClusterConfig(Scene& scene, const ClusterConfigBuilder& config) {
  Result<Json> found = scene.Get(kClusterConfigs, std::string(api::kClusterConfigName));
  if (IsNotFound(found)) {
    found = scene.Create(kClusterConfigs, config.Build());
    if (!found) return found.error();
    return Ok();
  }
  if (!found) return found.error();
  Json patch =
      Json::array({{{"op", "replace"}, {"path", "/spec"}, {"value", config.Build()["spec"]}}});
  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  Cluster& cluster = scene.cluster();
  auto patched = cluster.Run(kube::PatchObject(cluster.client(), kClusterConfigs, key,
                                               kube::kJsonPatch, std::move(patch)));
  if (!patched) return patched.error();
  return Ok();
}

std::string LowerCase(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name.substr(0, 40);
}

}  // namespace

ClusterConfigBuilder FlowTest::UsualClusterConfig() {
  return MakeClusterConfig()
      .ForNamespaces(kSceneLabel, "true")
      .Set("/spec/registriesConfigMapRef/name", kRegistriesName)
      .Set("/spec/inspectionRetryPeriod", kShortPeriod);
}

void FlowTest::SetUp() {
  std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  auto scene = Scene::Make(cluster(), LowerCase(name), NamespaceLabels());
  ASSERT_TRUE(scene) << scene.error();
  scene_ = std::move(*scene);
  Result<> ready = UseClusterConfig(UsualClusterConfig());
  ASSERT_TRUE(ready) << ready.error() << "\n" << scene_->Describe("");
}

void FlowTest::TearDown() { scene_.reset(); }

Result<> FlowTest::UseClusterConfig(const ClusterConfigBuilder& config,
                                    const std::string& registries_conf) {
  kube::Client& client = cluster().client();
  kube::Unstructured config_map(RegistriesConfigMap(cluster(), registries_conf));
  auto applied =
      cluster().Run(kube::ApplyObject(client, kConfigMaps, std::move(config_map), {"e2e"}));
  if (!applied) return applied.error();

  // Not applied but replaced: fields that an earlier flow has set must not stay. Tried again, as
  // the operator's validating webhook may be on its way still.
  kube::TimePoint deadline = cluster().clock().Now() + cluster().patience();
  Condition ready = ClusterConfigReady();
  bool written = false;
  Result<> works;
  do {
    works = written ? ready.holds(*scene_) : WriteClusterConfig(*scene_, config);
    if (written && works) return Ok();
    written = written || works.has_value();
    cluster().Pause(50ms);
  } while (cluster().clock().Now() < deadline);
  return works ? kube::Error::DeadlineExceeded("ClusterPodPlacementConfig does not work")
               : works.error().Prefix("ClusterPodPlacementConfig");
}

}  // namespace e2e
