// SPDX-License-Identifier: Apache-2.0
// Pods that wait for the scheduler, which are those that a gate can hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/cache/informer.h"
#include "kube/types/core.pb.h"

namespace watches {

// A gate itself cannot be selected by.
inline constexpr char kUnscheduledPods[] = "spec.nodeName=,status.phase=Pending";

// An informer of those of them in `ns` (empty: everywhere) that have one of the scheduling gates
// `gates`, without what a write does not need: a PUT of a pod ignores its status, and keeps the
// managed fields where it has none. Of pods that are large, or too many for the memory of a
// process, it has name, uid and gates (Reader::Complete() is false).
kube::InformerOptions<kube::core::Pod> GatedPods(std::string ns,
                                                 std::vector<std::string_view> gates);

}  // namespace watches
