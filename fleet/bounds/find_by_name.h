// SPDX-License-Identifier: Apache-2.0
// FindByName() - the object as the API server has it; nullopt if there is none. By a list: a hub
// may list and watch what it decides about, and needs no right to get it.
#pragma once

#include <optional>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// `client` outlives the call.
kube::Async<std::optional<kube::Unstructured>> FindByName(kube::Client& client,
                                                          kube::Resource resource,
                                                          kube::ObjectKey key);

}  // namespace fleet
