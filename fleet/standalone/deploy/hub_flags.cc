// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/deploy/hub_flags.h"

#include <gflags/gflags.h>

#include "deploy/tool.h"
#include "fleet/deploy/manifests.h"
#include "kube/client/kubeconfig.h"

DEFINE_string(name, "", "The name of the member on the hub. Required.");
DEFINE_string(hub_kubeconfig, "",
              "Path of a kubeconfig file of the hub; empty: as for --kubeconfig.");
DEFINE_string(hub, "", "Context of the hub in that file; empty: its current context.");
DEFINE_string(hub_namespace, fleet::kHubNamespace, "Namespace of the hub's Deployment.");

namespace fleet {

using kube::Error;

kube::Result<std::string> MemberName() {
  if (FLAGS_name.empty()) return Error::Invalid("--name is required");
  return FLAGS_name;
}

kube::Result<kube::ClientConfig> HubConfig() {
  if (FLAGS_hub_kubeconfig.empty() && FLAGS_hub.empty())
    return Error::Invalid("--hub or --hub-kubeconfig is required");
  auto config = kube::LoadKubeconfig(deploy::KubeconfigPath(FLAGS_hub_kubeconfig), FLAGS_hub);
  if (!config) return config.error().Prefix("the hub's kubeconfig");
  return config;
}

std::string HubNamespace() { return FLAGS_hub_namespace; }

}  // namespace fleet
