// SPDX-License-Identifier: Apache-2.0
// NodeFiles: what the files of a node say about registries, read into an InspectorConfig. For the
// cluster controller, where somebody mounts them, and for the inspect tool.
#pragma once

#include <string>
#include <vector>

#include "inspection/config/inspector_config.h"
#include "kube/base/error.h"

namespace inspection {

// Empty: nothing of that kind. What is not there counts as empty, too: a node need not have it.
struct NodeFilePaths {
  std::string registries_conf;  // with its drop-ins, PATH.d/*.conf
  std::vector<std::string>
      certs_dirs;                    // as /etc/containers/certs.d; the first with a registry counts
  std::string policy;                // policy.json
  std::string containerd_certs_dir;  // as /etc/containerd/certs.d
  std::string credential_provider_config;   // the kubelet's
  std::string credential_provider_bin_dir;  // where its plugins are

  bool operator==(const NodeFilePaths&) const = default;
};

// Reads all that `paths` name into `config`. Blocks for as long as the file system does.
// Errors: kInvalid names the file that cannot be read or does not parse as a whole.
kube::Result<void> ReadNodeFiles(const NodeFilePaths& paths, InspectorConfig& config);

}  // namespace inspection
