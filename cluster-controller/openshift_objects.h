// SPDX-License-Identifier: Apache-2.0
// OpenShiftObjects: polls the configuration of registries in the objects of an OpenShift cluster.
// Other clusters have no such objects, and the configuration is empty.
//
//   Image "cluster"       blocked, insecure and allowed registries; additionalTrustedCA
//   ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy
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

// The namespace of the objects that OpenShift's configuration names: the global pull secret,
// ConfigMaps with authorities.
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

  // Reads every `interval`, and calls `changed` when the contents changed. A failed read is logged,
  // and the previous configuration stays in use.
  kube::asio::awaitable<void> Run(kube::Clock& clock, kube::Duration interval,
                                  std::function<void()> changed);
  // Reads once. Errors: the API server's, except kNotFound.
  kube::Async<> Read();

  const OpenShiftConfig& config() const { return config_; }

 private:
  kube::Async<inspection::HostCertificates> ReadTrustedCa(std::string name);

  kube::Client& client_;
  OpenShiftConfig config_;
};

}  // namespace cluster_controller
