// SPDX-License-Identifier: Apache-2.0
// ImageAccess: inspects images as the cluster is configured: by the ClusterPodPlacementConfig and
// the objects that it names, OpenShift's objects and the files of the node. It writes nothing and
// needs no Lease.
//
//   ImageAccess access(executor, client, clock, {.ns = operator_namespace});
//   access.Start(tasks);
//   Result<> synced = co_await access.WaitForSync();   // before the first image
//   access.images().Inspect(...)
//
// Thread: the client's.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/openshift_objects.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/system_config.h"
#include "inspection/base/timing.h"
#include "inspection/cloud/cloud_options.h"
#include "inspection/config/account_tokens.h"
#include "inspection/config/node_files.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {

// Creates an inspector.
using NewInspector = std::function<std::unique_ptr<inspection::ImageInspector>(
    kube::Executor, kube::Clock&, inspection::InspectorOptions)>;

struct ImageAccessOptions {
  // The operator's namespace, with the objects that the ClusterPodPlacementConfig names.
  std::string ns;
  // Files of the node.
  inspection::NodeFilePaths files = {};
  // Registries of clouds that are read with this program's own identity.
  inspection::CloudOptions cloud = {};
  // For credential providers with tokenAttributes; may be nullptr. Outlives the access.
  inspection::AccountTokens* account_tokens = nullptr;
  // Whether the global pull secret is watched, which needs a right. If not, it is read each time.
  bool watch_global_secret = true;
  // Of the inspection of one image; of its credentials before, from plugins and clouds; of the read
  // of one pull secret.
  std::chrono::milliseconds inspection_timeout = inspection::kInspectionTimeout;
  std::chrono::milliseconds credentials_timeout = inspection::kCredentialsTimeout;
  std::chrono::milliseconds secret_read_timeout = kSecretReadTimeout;
  // Of the inspector.
  NewInspector new_inspector = inspection::NewImageInspector;
};

class ImageAccess {
 public:
  // `client` and `clock` outlive it.
  ImageAccess(kube::Executor executor, kube::Client& client, kube::Clock& clock,
              ImageAccessOptions options);

  // Starts the watches; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  // Returns when the configuration is applied. Errors: kCancelled.
  kube::Async<> WaitForSync();
  bool synced() const { return cluster_configs_.synced() && config_maps_.synced(); }
  // How long one of these watches has been failing; zero if none is.
  kube::Duration failing_for() const {
    return std::max(cluster_configs_.failing_for(), config_maps_.failing_for());
  }

  // Its other handlers are called once the change is applied.
  kube::Informer<api::ClusterPodPlacementConfig>& cluster_configs() { return cluster_configs_; }
  inspection::ImageInspector& images() { return *images_; }
  PullSecrets& secrets() { return secrets_; }

 private:
  kube::Clock& clock_;
  bool watch_global_secret_;
  kube::Informer<api::ClusterPodPlacementConfig> cluster_configs_;
  kube::Informer<kube::core::ConfigMap> config_maps_;
  std::unique_ptr<inspection::ImageInspector> images_;
  PullSecrets secrets_;
  OpenShiftObjects openshift_;
  SystemConfig system_config_;
};

}  // namespace cluster_controller
