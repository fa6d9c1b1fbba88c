// SPDX-License-Identifier: Apache-2.0
// Gates: which pods still wait when a shard or the cluster's operands are taken away, and letting them go.
//
// Always asked of the API server itself, a page at a time: a cache could miss the pod that was created an instant ago,
// and a watch of all pods would cost the operator more than it asks for in months.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"

namespace operator_ {

// The pods of `ns` (empty: of all namespaces) that have the scheduling gate `gate`; at most `limit` of them.
// Only those that no node has taken, as gates hang on no others.
kube::Async<std::vector<kube::core::Pod>> GatedPods(kube::Client& client, std::string ns, std::string gate,
                                                    size_t limit = 500);

// Takes `gates` away from each of `pods`, in one write a pod that changes nothing else but the gate's label. A pod that
// changed or went away meanwhile is left to the next try.
// Errors: the API server's, after all pods were tried.
kube::Async<> DropGates(kube::Client& client, std::vector<kube::core::Pod> pods, std::vector<std::string> gates);

}  // namespace operator_
