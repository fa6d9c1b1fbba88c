// SPDX-License-Identifier: Apache-2.0
// AgentKubeconfig: how an agent reaches its hub, from how the administrator reaches it.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/client/client_config.h"

namespace fleet {

// A kubeconfig with the address and the certificate authority of `hub`, and none of its
// credentials: the token is the file kHubTokenKey beside it. `server` replaces the address unless
// it is empty.
// Errors: kInvalid if the agent could not verify the hub, or not reach it because the address is
// one of this machine; kNotFound if the file of the authority cannot be read.
kube::Result<std::string> AgentKubeconfig(const kube::ClientConfig& hub, const std::string& server);

}  // namespace fleet
