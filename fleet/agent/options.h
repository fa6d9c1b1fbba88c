// SPDX-License-Identifier: Apache-2.0
// The flags of the program `agent`.
#pragma once

#include <memory>

#include "fleet/agent/agent.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/program/program.h"

namespace fleet {

// --cluster, --hub-secret, --full-cpu and --full-memory. Errors: kInvalid.
kube::Result<AgentOptions> OptionsFromFlags();

// The namespace of the Lease, and of the hub's Secret: --namespace.
const std::string& OwnNamespace();

// The client of --hub-kubeconfig. Errors: those of LoadKubeconfig() and NewClient().
kube::Result<std::unique_ptr<kube::Client>> ConnectHub(kube::Program& program);

}  // namespace fleet
