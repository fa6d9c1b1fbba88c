// SPDX-License-Identifier: Apache-2.0
// OpenShiftObjects: what an OpenShift cluster says of registries in its own objects, read now and
// then. Elsewhere there is no such object, and that is all this learns.
//
//   Image "cluster"                                        blocked, insecure, allowed;
//   additionalTrustedCA ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy
//
// Thread: the client's.
#pragma once

#include <functional>

#include "inspection/config/host_certificates.h"
#include "inspection/config/registry_rules.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace cluster_controller {

// Where OpenShift keeps what its configuration names: the global pull secret, ConfigMaps with
// authorities.
inline constexpr char kOpenShiftConfigNamespace[] = "openshift-config";

struct OpenShiftConfig {
  bool present = false;
  inspection::RegistryRules rules;
  inspection::HostCertificates certificates;

  bool operator==(const OpenShiftConfig&) const = default;
};

class OpenShiftObjects {
 public:
  explicit OpenShiftObjects(kube::Client& client) : client_(client) {}

  // Reads again every `interval`, and calls `changed` when what was read is something else. What
  // cannot be read is logged, and what was in force before stays.
  kube::asio::awaitable<void> Run(kube::Clock& clock, kube::Duration interval,
                                  std::function<void()> changed);
  // One reading. Errors: the API server's, but for kNotFound.
  kube::Async<> Read();

  const OpenShiftConfig& config() const { return config_; }

 private:
  kube::Async<inspection::HostCertificates> ReadTrustedCa(std::string name);

  kube::Client& client_;
  OpenShiftConfig config_;
};

}  // namespace cluster_controller
