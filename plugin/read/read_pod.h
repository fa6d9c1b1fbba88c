// SPDX-License-Identifier: Apache-2.0
// Reads what a cluster says about a pod, with the user's rights. What the user may not read is
// named in NamespaceEvidence::unread. Thread: the client's.
#pragma once

#include <string>
#include <vector>

#include "api/names.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "plugin/pod/evidence.h"

namespace plugin {

// Of the objects with these uids, the oldest event first. Errors: those of the client.
kube::Async<std::vector<kube::core::Event>> ReadEvents(kube::Client& client, std::string ns,
                                                       std::string uid);

// Errors: those of reading the pod itself.
kube::Async<PodEvidence> ReadPod(
    kube::Client& client, kube::Clock& clock, kube::ObjectKey key,
    std::string operator_namespace = std::string(api::kDefaultOperatorNamespace));

}  // namespace plugin
