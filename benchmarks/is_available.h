// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/types/object_fields.h"
#include "kube/types/unstructured.h"

namespace benchmarks {

// The condition Available of a PodPlacementConfig.
inline bool IsAvailable(const kube::Unstructured& config) {
  return kube::ConditionStatus(config.body(), "Available") == "True";
}

}  // namespace benchmarks
