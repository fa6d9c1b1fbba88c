// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_configurations.h"

#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"

namespace plugin {

kube::Async<Configurations> ReadConfigurations(kube::Client& client, std::string ns,
                                               std::vector<Unread>& unread) {
  Configurations read;
  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  auto cluster = co_await kube::Get<api::ClusterPodPlacementConfig>(client, std::move(key));
  read.has_no_cluster = IsNotFound(cluster);
  if (cluster) {
    read.cluster = std::move(*cluster);
  } else if (!IsNotFound(cluster)) {
    unread.push_back({"the ClusterPodPlacementConfig", cluster.error().message()});
  }
  kube::ListOptions options{.ns = std::move(ns)};
  auto configs = co_await kube::List<api::PodPlacementConfig>(client, std::move(options));
  if (configs) {
    read.of_namespace = std::move(configs->items);
  } else if (!IsNotFound(configs)) {
    unread.push_back({"PodPlacementConfigs", configs.error().message()});
  }
  co_return read;
}

}  // namespace plugin
