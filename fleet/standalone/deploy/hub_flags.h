// SPDX-License-Identifier: Apache-2.0
// The flags of the tools that work on a member and its hub: --name of the member, and
// --hub-kubeconfig, --hub and --hub-namespace. The member is that of cluster_flags.h.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/client/client_config.h"

namespace fleet {

// Errors: kInvalid without --name.
kube::Result<std::string> MemberName();

// kInvalid without --hub-kubeconfig and --hub: the hub is never guessed.
kube::Result<kube::ClientConfig> HubConfig();

// The namespace of the hub's Deployment.
std::string HubNamespace();

}  // namespace fleet
