// SPDX-License-Identifier: Apache-2.0
// GivenCluster: the cluster of KUBECONFIG with the registry of REGISTRY.
#pragma once

#include <memory>

#include "e2e/framework/cluster.h"

namespace e2e {

// `name` is part of the User-Agent. Errors: kInvalid if a variable is missing; those of
// LoadKubeconfig().
kube::Result<std::unique_ptr<Cluster>> OpenGivenCluster(const std::string& name);

}  // namespace e2e
