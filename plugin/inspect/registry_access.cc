// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/registry_access.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "cluster-controller/openshift_objects.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/registry_config_maps.h"
#include "kube/client/read_file.h"
#include "kube/client/typed.h"
#include "placement/images.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Result;
using kube::core::ConfigMap;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultAuthFile() {
  const std::string docker = Variable("DOCKER_CONFIG");
  for (const std::string& path :
       {Variable("REGISTRY_AUTH_FILE"), docker.empty() ? "" : docker + "/config.json",
        Variable("HOME") + "/.docker/config.json"}) {
    std::error_code ignored;
    if (!path.empty() && std::filesystem::exists(path, ignored)) return path;
  }
  return "";
}

Async<std::optional<ConfigMap>> ReadConfigMap(Client& client, kube::ObjectKey key,
                                              std::vector<Unread>& unread) {
  if (key.name.empty()) co_return std::nullopt;
  std::string what = "the ConfigMap " + key.ToString();
  Result<ConfigMap> map = co_await kube::Get<ConfigMap>(client, std::move(key));
  if (map) co_return std::move(*map);
  unread.push_back({std::move(what), map.error().message()});
  co_return std::nullopt;
}

}  // namespace

Result<RegistryAccess> AccessOfThisMachine(const LocalFiles& files) {
  RegistryAccess access;
  // These files are optional on a node, but not if somebody names them.
  for (const std::string& path :
       {files.node.registries_conf, files.node.policy, files.node.credential_provider_config}) {
    if (path.empty()) continue;
    Result<std::string> text = kube::ReadFile(path);
    if (!text) return text.error();
  }
  Result<> read = inspection::ReadNodeFiles(files.node, access.config);
  if (!read) return read.error();
  if (!files.ca_file.empty()) {
    Result<std::string> bundle = kube::ReadFile(files.ca_file);
    if (!bundle) return bundle.error();
    access.config.ca_bundle_pem = std::move(*bundle);
  }
  const std::string authfile = files.authfile.empty() ? DefaultAuthFile() : files.authfile;
  if (authfile.empty()) return access;
  Result<std::string> auth = kube::ReadFile(authfile);
  if (!auth) return auth.error();
  inspection::Keyring keyring;
  Result<> added = keyring.AddSecret(authfile, inspection::kDockerConfigJsonType, *auth);
  // Docker's file may have nothing but settings.
  if (!added && !files.authfile.empty()) return added.error();
  if (!added) access.unread.push_back({"credentials", added.error().message()});
  access.keyring = std::make_shared<const inspection::Keyring>(std::move(keyring));
  return access;
}

Async<ClusterAccess> AccessOfCluster(Client& client, kube::Clock& clock,
                                     std::string operator_namespace) {
  ClusterAccess access;
  cluster_controller::OpenShiftObjects openshift(client);
  Result<> read = co_await openshift.Read();
  if (!read) access.unread.push_back({"mirrors of OpenShift", read.error().message()});
  access.config.cluster_rules = openshift.config().rules;
  access.config.certificates = openshift.config().certificates;

  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  auto cluster = co_await kube::Get<api::ClusterPodPlacementConfig>(client, std::move(key));
  if (!cluster)
    access.unread.push_back({"the ClusterPodPlacementConfig", cluster.error().message()});
  api::ClusterPodPlacementConfigSpec spec;
  if (cluster) spec = std::move(cluster->spec);
  kube::ObjectKey registries{operator_namespace, spec.registries_config_map};
  auto map = co_await ReadConfigMap(client, std::move(registries), access.unread);
  if (map && *map) cluster_controller::UseRegistries(**map, access.config);
  kube::ObjectKey bundle{operator_namespace, spec.ca_bundle_config_map};
  map = co_await ReadConfigMap(client, std::move(bundle), access.unread);
  if (map && *map) cluster_controller::TrustBundle(**map, access.config);

  cluster_controller::PullSecrets secrets(client, clock);
  secrets.SetGlobal(cluster_controller::GlobalPullSecret(
      operator_namespace, spec.global_pull_secret, openshift.config()));
  std::string no_namespace;
  std::vector<std::string> no_names;
  auto keyring = co_await secrets.For(std::move(no_namespace), std::move(no_names));
  if (keyring) {
    access.global = std::move(*keyring);
  } else {
    access.unread.push_back({"the global pull secret", keyring.error().message()});
  }
  co_return access;
}

Async<inspection::SharedKeyring> KeyringOf(Client& client, kube::Clock& clock,
                                           const kube::core::Pod& pod, const ClusterAccess& cluster,
                                           std::vector<Unread>& unread) {
  cluster_controller::PullSecrets secrets(client, clock);
  std::string ns = pod.metadata().namespace_();
  std::string of = "pull secrets of " + ns;
  std::vector<std::string> names = placement::PullSecretsOf(pod);
  auto own = co_await secrets.For(std::move(ns), std::move(names));
  inspection::Keyring keyring;
  Result<> added = own ? kube::Ok() : Result<>(own.error());
  if (own && *own != nullptr) added = keyring.Append(**own);
  if (added && cluster.global != nullptr) added = keyring.Append(*cluster.global);
  if (!added) unread.push_back({std::move(of), added.error().message()});
  co_return std::make_shared<const inspection::Keyring>(std::move(keyring));
}

}  // namespace plugin
