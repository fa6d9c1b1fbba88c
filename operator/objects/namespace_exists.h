// SPDX-License-Identifier: Apache-2.0
// NamespaceExists(): asks the API server. An API server that has just started does not know all
// custom resources; a namespace that is deleted at that time goes, and leaves its
// PodPlacementConfigs. They place no pods, and must not keep the ClusterPodPlacementConfig from
// being deleted.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"

namespace operator_ {

// Errors: the API server's, but not that there is none.
kube::Async<bool> NamespaceExists(kube::Client& client, std::string ns);

}  // namespace operator_
