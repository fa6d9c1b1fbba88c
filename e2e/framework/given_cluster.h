// SPDX-License-Identifier: Apache-2.0
// GivenCluster: the cluster that KUBECONFIG names, with the registry that REGISTRY names.
#pragma once

#include <memory>

#include "e2e/framework/cluster.h"

namespace e2e {

// `name` goes into the User-Agent. kInvalid says which variable is missing; else as kubeconfigs
// fail.
kube::Result<std::unique_ptr<Cluster>> OpenGivenCluster(const std::string& name);

}  // namespace e2e
