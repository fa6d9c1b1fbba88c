// SPDX-License-Identifier: Apache-2.0
// Pods that wait for the scheduler, which are those that a gate can hold.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "kube/cache/informer.h"
#include "kube/types/core.pb.h"

namespace kube {

// A gate itself cannot be selected by.
inline constexpr char kWaitingPods[] = "spec.nodeName=,status.phase=Pending";

// An informer of those of them in `ns` (empty: everywhere) that `keep` wants, without what a write does not need: a PUT of
// a pod ignores its status, and keeps the managed fields where it has none.
inline InformerOptions<core::Pod> WaitingPods(std::string ns, std::function<bool(const core::Pod&)> keep) {
  auto trim = [](core::Pod& pod) {
    pod.clear_status();
    pod.mutable_metadata()->clear_managed_fields();
  };
  return {.ns = std::move(ns), .field_selector = kWaitingPods, .trim = trim, .keep = std::move(keep)};
}

}  // namespace kube
