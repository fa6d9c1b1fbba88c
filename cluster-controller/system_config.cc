// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/system_config.h"

#include <glog/logging.h>

#include <optional>

#include "api/names.h"
#include "cluster-controller/registry_config_maps.h"

namespace cluster_controller {
namespace {

// A ConfigMap of operator/manifests/components/openshift. OpenShift writes the cluster's trusted
// authorities into it.
constexpr char kTrustedCaConfigMap[] = "trusted-ca";

}  // namespace

SystemConfig::SystemConfig(std::string ns, inspection::NodeFilePaths files,
                           const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs,
                           const kube::Reader<kube::core::ConfigMap>& config_maps,
                           inspection::ImageInspector& images, PullSecrets& secrets,
                           const OpenShiftConfig& openshift)
    : ns_(std::move(ns)),
      files_(std::move(files)),
      cluster_configs_(cluster_configs),
      config_maps_(config_maps),
      images_(images),
      secrets_(secrets),
      openshift_(openshift) {
  ReadFiles();
}

void SystemConfig::Apply() {
  auto config = cluster_configs_.Get({"", std::string(api::kClusterConfigName)});
  api::ClusterPodPlacementConfigSpec spec;
  if (config) spec = config->spec;

  secrets_.SetGlobal(GlobalPullSecret(ns_, spec.global_pull_secret, openshift_));
  kube::Result<void> set = images_.SetConfig(ConfigFor(spec));
  LOG_IF(ERROR, !set) << "cannot use the configuration of registries: " << set.error();
}

kube::asio::awaitable<void> SystemConfig::WatchFiles(kube::Clock& clock, kube::Duration interval) {
  if (files_ == inspection::NodeFilePaths()) co_return;
  while (true) {
    kube::Result<> slept = co_await clock.Sleep(interval);
    if (!slept) co_return;
    if (ReadFiles()) Apply();
  }
}

bool SystemConfig::ReadFiles() {
  inspection::InspectorConfig config;
  kube::Result<void> read = inspection::ReadNodeFiles(files_, config);
  if (!read) {
    LOG(ERROR) << "cannot use the files of the node: " << read.error();
    return false;
  }
  if (config == from_files_) return false;
  bool changed = config.credential_providers != from_files_.credential_providers;
  for (const std::string& problem : config.credential_providers.skipped)
    LOG_IF(WARNING, changed) << problem;
  from_files_ = std::move(config);
  return true;
}

inspection::InspectorConfig SystemConfig::ConfigFor(
    const api::ClusterPodPlacementConfigSpec& spec) const {
  inspection::InspectorConfig config = from_files_;
  config.cluster_rules = openshift_.rules;
  for (const auto& [registry, tls] : openshift_.certificates)
    config.certificates[registry].ca_pem += tls.ca_pem;
  if (!spec.registries_config_map.empty()) {
    if (auto map = config_maps_.Get({ns_, spec.registries_config_map})) {
      UseRegistries(*map, config);
    } else {
      LOG(WARNING) << "registriesConfigMapRef: no ConfigMap " << ns_ << "/"
                   << spec.registries_config_map;
    }
  }
  if (openshift_.present) {
    if (auto map = config_maps_.Get({ns_, kTrustedCaConfigMap})) TrustBundle(*map, config);
  }
  if (!spec.ca_bundle_config_map.empty()) {
    if (auto map = config_maps_.Get({ns_, spec.ca_bundle_config_map})) {
      TrustBundle(*map, config);
    } else {
      LOG(WARNING) << "caBundleConfigMapRef: no ConfigMap " << ns_ << "/"
                   << spec.ca_bundle_config_map;
    }
  }
  return config;
}

}  // namespace cluster_controller
