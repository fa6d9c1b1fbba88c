// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/flow_fixture.h"

#include <algorithm>

#include "e2e/framework/served.h"
#include "kube/base/ascii.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::IsNotFound;
using kube::Ok;
using kube::Result;

namespace {

constexpr const char* kRegistriesName = "e2e-registries";
// Keeps the flows about failed inspections short.
constexpr const char* kShortPeriod = "5s";

// The registry of the tests serves plain HTTP, which needs `insecure`.
Json RegistriesConfigMap(Cluster& cluster, const std::string& more) {
  Json config_map = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  config_map["metadata"] = {{"name", kRegistriesName}, {"namespace", cluster.operator_namespace()}};
  config_map["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + cluster.registry() + "\"\ninsecure = true\n" + more;
  return config_map;
}

// Creates the ClusterPodPlacementConfig or replaces its spec.
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

// "LeavesNothing/OperatorFirst" -> "leavesnothing-operatorfirst"
std::string NamespaceNameOf(std::string_view test) {
  std::string name = kube::AsciiLower(test.substr(0, 40));
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

}  // namespace

ClusterConfigBuilder FlowFixture::DefaultClusterConfig() {
  return MakeClusterConfig()
      .ForNamespaces(kSceneLabel, "true")
      .Set("/spec/registriesConfigMapRef/name", kRegistriesName)
      .Set("/spec/inspectionRetryPeriod", kShortPeriod);
}

void FlowFixture::SetUp() {
  std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  auto scene = Scene::Make(cluster(), NamespaceNameOf(name), NamespaceLabels());
  ASSERT_TRUE(scene) << scene.error();
  scene_ = std::move(*scene);
  Result<> ready = UseClusterConfig(DefaultClusterConfig());
  ASSERT_TRUE(ready) << ready.error() << "\n" << scene_->Describe("");
}

void FlowFixture::TearDown() { scene_.reset(); }

Result<> FlowFixture::UseClusterConfig(const ClusterConfigBuilder& config,
                                       const std::string& registries_conf) {
  kube::Client& client = cluster().client();
  kube::Unstructured config_map(RegistriesConfigMap(cluster(), registries_conf));
  auto applied =
      cluster().Run(kube::ApplyObject(client, kConfigMaps, std::move(config_map), {"e2e"}));
  if (!applied) return applied.error();

  // Replaced and not applied: fields set by an earlier flow must not stay. Retried, because the
  // operator's validating webhook may not be ready yet.
  kube::TimePoint deadline = cluster().clock().Now() + cluster().timeout();
  Condition ready = ClusterConfigReady();
  bool written = false;
  Result<> works;
  do {
    works = written ? ready.holds(*scene_) : WriteClusterConfig(*scene_, config);
    if (written && works) return Ok();
    written = written || works.has_value();
    cluster().Pause(50ms);
  } while (cluster().clock().Now() < deadline);
  return works ? kube::Error::DeadlineExceeded("ClusterPodPlacementConfig is not in effect")
               : works.error().Prefix("ClusterPodPlacementConfig");
}

std::string FlowFixture::WhyNoGatingPolicies() {
  return NotServed(cluster(), kube::kMutatingAdmissionPolicies);
}

}  // namespace e2e
