// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/image_access.h"

#include <utility>

#include "cluster-controller/timing.h"

namespace cluster_controller {

ImageAccess::ImageAccess(kube::Executor executor, kube::Client& client, kube::Clock& clock,
                         ImageAccessOptions options)
    : clock_(clock),
      watch_global_secret_(options.watch_global_secret),
      cluster_configs_(client, clock, {}),
      config_maps_(client, clock, {.ns = options.ns}),
      images_(options.new_inspector(std::move(executor), clock,
                                    {.timeout = options.inspection_timeout,
                                     .credentials_timeout = options.credentials_timeout,
                                     .account_tokens = options.account_tokens,
                                     .cloud = std::move(options.cloud),
                                     .trace = {}})),
      secrets_(client, clock, options.secret_read_timeout),
      openshift_(client),
      system_config_(std::move(options.ns), std::move(options.files), cluster_configs_,
                     config_maps_, *images_, secrets_, openshift_.config()) {
  cluster_configs_.OnEvent(
      [this](kube::EventType, const api::ClusterPodPlacementConfig&) { system_config_.Apply(); });
  config_maps_.OnEvent(
      [this](kube::EventType, const kube::core::ConfigMap&) { system_config_.Apply(); });
}

void ImageAccess::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("cluster-configs", cluster_configs_.Run());
  tasks.Spawn("config-maps", config_maps_.Run());
  if (watch_global_secret_) tasks.Spawn("global-pull-secret", secrets_.Run());
  tasks.Spawn("openshift",
              openshift_.Run(clock_, kOpenShiftInterval, [this] { system_config_.Apply(); }));
  tasks.Spawn("files", system_config_.WatchFiles(clock_, kNodeFilesInterval));
}

kube::Async<> ImageAccess::WaitForSync() {
  kube::Result<> synced = co_await cluster_configs_.WaitForSync();
  if (synced) synced = co_await config_maps_.WaitForSync();
  if (synced) system_config_.Apply();
  co_return synced;
}

}  // namespace cluster_controller
