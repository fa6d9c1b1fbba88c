// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kube/types/unstructured.h"

namespace benchmarks {

// The condition Available of a PodPlacementConfig.
inline bool IsAvailable(const kube::Unstructured& config) {
  const kube::Json* conditions = kube::Find(config.body(), "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->begin(), conditions->end(), [](const kube::Json& condition) {
    return kube::StringAt(condition, "type") == "Available" &&
           kube::StringAt(condition, "status") == "True";
  });
}

}  // namespace benchmarks
