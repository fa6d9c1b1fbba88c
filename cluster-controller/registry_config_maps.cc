// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/registry_config_maps.h"

#include <utility>

#include "kube/types/in_order.h"

namespace cluster_controller {
namespace {

constexpr char kRegistriesKey[] = "registries.conf";
constexpr char kPolicyKey[] = "policy.json";

}  // namespace

void UseRegistries(const kube::core::ConfigMap& map, inspection::InspectorConfig& config) {
  auto value = [&](const char* key) {
    auto found = map.data().find(key);
    return found == map.data().end() ? std::string() : found->second;
  };
  if (std::string text = value(kRegistriesKey); !text.empty()) {
    config.registries_conf = std::move(text);
    config.registries_conf_drop_ins.clear();
  }
  if (std::string text = value(kPolicyKey); !text.empty()) config.policy_json = std::move(text);
}

void TrustBundle(const kube::core::ConfigMap& map, inspection::InspectorConfig& config) {
  for (const auto& [key, certificates] : kube::InOrder(map.data())) {
    config.ca_bundle_pem += certificates;
    config.ca_bundle_pem += '\n';
  }
}

}  // namespace cluster_controller
