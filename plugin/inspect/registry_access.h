// SPDX-License-Identifier: Apache-2.0
// RegistryAccess: with which configuration and which credentials registries are asked.
#pragma once

#include <string>
#include <vector>

#include "inspection/config/credentials.h"
#include "inspection/config/inspector_config.h"
#include "inspection/config/node_files.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "plugin/pod/evidence.h"

namespace plugin {

struct RegistryAccess {
  inspection::InspectorConfig config;
  inspection::SharedKeyring keyring;
  // What of it could not be read.
  std::vector<Unread> unread = {};
};

// What this machine has.
struct LocalFiles {
  // registries.conf, certs.d, ...; those that are named have to exist.
  inspection::NodeFilePaths node;
  // Certificates to trust in addition to the system's, PEM; "" for none.
  std::string ca_file;
  // Credentials: docker's config.json, or podman's auth.json; "" for the first that exists of
  // $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json, ~/.docker/config.json.
  std::string authfile;
};
// Errors: those of a file that is named, and kInvalid for one that does not parse.
kube::Result<RegistryAccess> AccessOfThisMachine(const LocalFiles& files);

// What the cluster controller asks registries with, as far as the user may read it: the registries
// of the ClusterPodPlacementConfig and of OpenShift, and the global pull secret. Thread: the
// client's. Errors: kCancelled.
struct ClusterAccess {
  inspection::InspectorConfig config;
  inspection::SharedKeyring global;
  std::vector<Unread> unread = {};
};
kube::Async<ClusterAccess> AccessOfCluster(kube::Client& client, kube::Clock& clock,
                                           std::string operator_namespace);

// The credentials for the images of the pod: its pull secrets, then the global one. What cannot be
// read is added to `unread`. Errors: kCancelled.
kube::Async<inspection::SharedKeyring> KeyringOf(kube::Client& client, kube::Clock& clock,
                                                 const kube::core::Pod& pod,
                                                 const ClusterAccess& cluster,
                                                 std::vector<Unread>& unread);

}  // namespace plugin
