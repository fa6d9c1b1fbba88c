// SPDX-License-Identifier: Apache-2.0
// OpenShiftObjects: polls the configuration of registries in the objects of an OpenShift cluster.
// Other clusters have no such objects, and the configuration is empty.
//
//   Image "cluster"       blocked, insecure and allowed registries; additionalTrustedCA
//   ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy
//   ConfigMap image-registry-certificates   authorities of registries, as the nodes trust them; the
//                                           operator of OpenShift's image registry writes it
//
// Thread: the client's.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>

#include "inspection/config/host_certificates.h"
#include "inspection/config/registry_rules.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace cluster_controller {

// The namespace of the objects that OpenShift's configuration names: the global pull secret,
// ConfigMaps with authorities.
inline constexpr char kOpenShiftConfigNamespace[] = "openshift-config";

// The largest ConfigMap of authorities that is used: the API server accepts no larger one.
inline constexpr size_t kMaxRegistryCertificateBytes = 1024 * 1024;

struct OpenShiftConfig {
  bool present = false;
  inspection::RegistryRules rules;
  inspection::HostCertificates certificates;

  bool operator==(const OpenShiftConfig&) const = default;
};

// The Secret with credentials for all pods: the one of this name in the operator's namespace `ns`,
// else OpenShift's own; without a name if there is none.
kube::ObjectKey GlobalPullSecret(const std::string& ns, const std::string& name,
                                 const OpenShiftConfig& openshift);

class OpenShiftObjects {
 public:
  explicit OpenShiftObjects(kube::Client& client) : client_(client) {}

  // Reads every `interval`, and calls `changed` when the contents changed. Errors are logged.
  kube::asio::awaitable<void> Run(kube::Clock& clock, kube::Duration interval,
                                  std::function<void()> changed);
  // Reads once. An object that cannot be read keeps its previous contents in use, and those of the
  // others are replaced. Errors: the first of the API server's, except kNotFound; kInvalid for
  // authorities of more than kMaxRegistryCertificateBytes.
  kube::Async<> Read();

  const OpenShiftConfig& config() const { return config_; }

 private:
  // What each object says.
  struct Parts {
    inspection::RegistryRules image;
    std::array<inspection::RegistryRules, 3> mirrors;  // by kind
    inspection::HostCertificates trusted_ca;
    inspection::HostCertificates image_registry;
  };

  // Empty for a ConfigMap that does not exist, or without a name.
  kube::Async<inspection::HostCertificates> ReadCertificates(kube::ObjectKey config_map);
  OpenShiftConfig Compose() const;

  kube::Client& client_;
  Parts parts_;
  OpenShiftConfig config_;
};

}  // namespace cluster_controller
