// SPDX-License-Identifier: Apache-2.0
// What joining and leaving share.
#pragma once

#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The Secret of the agent whose manifests these are.
kube::Result<kube::ObjectKey> HubSecretOf(const std::vector<kube::Unstructured>& agent);

// Fails with kAlreadyExists if the Secret is there and names another cluster than `cluster`: this
// cluster is a member by that name.
kube::Async<> CheckMemberName(kube::Client& member, kube::ObjectKey secret, std::string cluster);

// The --membership of the hub in `ns`, by its Deployment. True: own. Errors: also kNotFound without
// a hub there.
kube::Async<bool> HubOwnsMembership(kube::Client& hub, std::string ns);

}  // namespace fleet
