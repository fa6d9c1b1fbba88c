// SPDX-License-Identifier: Apache-2.0
// InspectorConfig: how registries are reached, all of it. Empty values: nothing of that kind.
//
// registries.conf speaks first (it may name mirrors), then containerd's hosts for each of the
// places it names; a cluster normally has only one of the two.
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
  std::string ca_bundle_pem;                          // trusted beside the system's certificates
  std::string policy_json;                        // policy.json of containers/image; see policy.h
  HostCertificates certificates;                  // certs.d: for single registries
  ContainerdHosts containerd_hosts;               // containerd's certs.d with its hosts.toml
  RegistryRules cluster_rules;                    // what an OpenShift cluster's objects add
  CredentialProviderConfig credential_providers;  // asked after a pod's own pull secrets

  bool operator==(const InspectorConfig&) const = default;
};

}  // namespace inspection
