// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/system_config.h"

#include <glog/logging.h>

#include <optional>

#include "api/names.h"

namespace cluster_controller {
namespace {

constexpr char kRegistriesKey[] = "registries.conf";
constexpr char kPolicyKey[] = "policy.json";

}  // namespace

SystemConfig::SystemConfig(std::string ns, const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs,
                           const kube::Reader<kube::core::ConfigMap>& config_maps, inspection::ImageInspector& images,
                           PullSecrets& secrets, ShardWatch& shards)
    : ns_(std::move(ns)),
      cluster_configs_(cluster_configs),
      config_maps_(config_maps),
      images_(images),
      secrets_(secrets),
      shards_(shards) {}

void SystemConfig::Apply() {
  auto config = cluster_configs_.Get({"", std::string(api::kClusterConfigName)});
  api::ClusterPodPlacementConfigSpec spec;
  if (config) spec = config->spec;

  secrets_.SetGlobal({ns_, spec.global_pull_secret});
  shards_.set_takeover_after(spec.shard_takeover_after);
  kube::Result<void> set = images_.SetConfig(ReadInspectorConfig(spec));
  LOG_IF(ERROR, !set) << "the configuration of registries is not used: " << set.error();
}

inspection::InspectorConfig SystemConfig::ReadInspectorConfig(const api::ClusterPodPlacementConfigSpec& spec) const {
  inspection::InspectorConfig config;
  if (!spec.registries_config_map.empty()) {
    if (auto map = config_maps_.Get({ns_, spec.registries_config_map})) {
      auto value = [&](const char* key) {
        auto found = map->data().find(key);
        return found == map->data().end() ? std::string() : found->second;
      };
      config.registries_conf = value(kRegistriesKey);
      config.policy_json = value(kPolicyKey);
    } else {
      LOG(WARNING) << "registriesConfigMapRef: there is no ConfigMap " << ns_ << "/" << spec.registries_config_map;
    }
  }
  if (!spec.ca_bundle_config_map.empty()) {
    if (auto map = config_maps_.Get({ns_, spec.ca_bundle_config_map})) {
      for (auto& [key, pem] : map->data()) config.ca_bundle_pem += pem + "\n";
    } else {
      LOG(WARNING) << "caBundleConfigMapRef: there is no ConfigMap " << ns_ << "/" << spec.ca_bundle_config_map;
    }
  }
  return config;
}

}  // namespace cluster_controller
