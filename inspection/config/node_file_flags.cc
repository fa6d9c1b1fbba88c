// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/node_file_flags.h"

#include <gflags/gflags.h>

#include "kube/base/split.h"

DEFINE_string(
    registries_conf, "",
    "registries.conf, version 2, with its drop-ins in PATH.d: mirrors, blocked registries.");
DEFINE_string(certs_dir, "",
              "Folders like /etc/containers/certs.d, separated by commas; the first one with a "
              "folder for the registry counts.");
DEFINE_string(policy, "", "policy.json of containers/image.");
DEFINE_string(containerd_certs_dir, "",
              "Folder like /etc/containerd/certs.d, with hosts.toml files.");
DEFINE_string(credential_provider_config, "", "File with a kubelet's CredentialProviderConfig.");
DEFINE_string(credential_provider_bin_dir, "",
              "Folder with the programs that --credential-provider-config names.");

namespace inspection {

NodeFilePaths NodeFilesFromFlags() {
  return {.registries_conf = FLAGS_registries_conf,
          .certs_dirs = kube::SplitAtCommas(FLAGS_certs_dir),
          .policy = FLAGS_policy,
          .containerd_certs_dir = FLAGS_containerd_certs_dir,
          .credential_provider_config = FLAGS_credential_provider_config,
          .credential_provider_bin_dir = FLAGS_credential_provider_bin_dir};
}

}  // namespace inspection
