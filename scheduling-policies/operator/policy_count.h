// SPDX-License-Identifier: Apache-2.0
// How many PodSchedulingPolicies a namespace has, for their limit (scheduling-policies/budget.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"

namespace operator_ {

// Asks the API server, and reads none of them, as they may be large. A count that the API server
// does not give is 0 or 1.
kube::Async<size_t> CountPolicies(kube::Client& client, std::string ns,
                                  std::chrono::milliseconds timeout);

}  // namespace operator_
