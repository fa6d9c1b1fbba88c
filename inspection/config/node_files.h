// SPDX-License-Identifier: Apache-2.0
// NodeFiles: reads a node's configuration files about registries into an InspectorConfig. For the
// cluster controller, where these files are mounted, and for `kubectl placement inspect`.
#pragma once

#include <string>
#include <vector>

#include "inspection/config/inspector_config.h"
#include "kube/base/error.h"

namespace inspection {

// All are optional. A file that does not exist counts as empty: a node need not have it.
struct NodeFilePaths {
  std::string registries_conf;  // with its drop-ins, PATH.d/*.conf
  // Like /etc/containers/certs.d; the first one with a folder for the registry counts.
  std::vector<std::string> certs_dirs;
  std::string policy;                       // policy.json
  std::string containerd_certs_dir;         // like /etc/containerd/certs.d
  std::string credential_provider_config;   // the kubelet's
  std::string credential_provider_bin_dir;  // the folder of its plugins
  // Whether providers may get tokens of service accounts.
  bool service_account_tokens = false;

  bool operator==(const NodeFilePaths&) const = default;
};

// Reads the files of `paths` into `config`; blocks.
// Errors: kInvalid names the file that cannot be read or parsed.
kube::Result<void> ReadNodeFiles(const NodeFilePaths& paths, InspectorConfig& config);

}  // namespace inspection
