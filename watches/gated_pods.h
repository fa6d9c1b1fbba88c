// SPDX-License-Identifier: Apache-2.0
// An informer of gated pods.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/cache/informer.h"
#include "kube/types/core.pb.h"

namespace watches {

// Only unscheduled pods can have a gate. There is no selector for the gates themselves.
inline constexpr char kUnscheduledPods[] = "spec.nodeName=,status.phase=Pending";

// Options of an informer of the pods in `ns` (empty: all namespaces) with one of `gates`. The cache
// leaves out what a write does not need: a PUT ignores a pod's status, and keeps its managed fields
// if the body has none. For large pods, and for those that exceed the memory budget, the cache has
// only name, uid and gates (Reader::Complete() is false).
kube::InformerOptions<kube::core::Pod> GatedPods(std::string ns,
                                                 std::vector<std::string_view> gates);

}  // namespace watches
