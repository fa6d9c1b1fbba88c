// SPDX-License-Identifier: Apache-2.0
// InspectorConfig: the complete configuration of access to registries. Empty values are allowed.
//
// registries.conf is applied first (it may name mirrors), then containerd's hosts to each of the
// resulting places; a cluster normally has only one of the two.
#pragma once

#include <string>
#include <vector>

#include "inspection/config/containerd_hosts.h"
#include "inspection/config/credential_providers.h"
#include "inspection/config/host_certificates.h"
#include "inspection/config/registry_rules.h"

namespace inspection {

struct InspectorConfig {
  std::string registries_conf;                        // registries.conf, version 2
  std::vector<std::string> registries_conf_drop_ins;  // its drop-ins in their order
  std::string ca_bundle_pem;                          // trusted, as the system's are
  std::string policy_json;                        // policy.json of containers/image; see policy.h
  HostCertificates certificates;                  // certs.d, per registry
  ContainerdHosts containerd_hosts;               // containerd's certs.d with its hosts.toml
  RegistryRules cluster_rules;                    // from the objects of an OpenShift cluster
  CredentialProviderConfig credential_providers;  // used after a pod's pull secrets

  bool operator==(const InspectorConfig&) const = default;
};

}  // namespace inspection
