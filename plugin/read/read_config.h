// SPDX-License-Identifier: Apache-2.0
// Reads a PodPlacementConfig and the pods of its namespace, with the user's rights. Thread: the
// client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "plugin/config/why_config.h"

namespace plugin {

// Errors: those of reading pods; kNotFound.
kube::Async<ConfigEvidence> ReadConfig(kube::Client& client, kube::ObjectKey key,
                                       std::string operator_namespace);

}  // namespace plugin
