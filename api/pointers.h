// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/pod_placement_config.h"
#include "api/validation.h"

namespace api {

// Valid as long as `configs`.
inline PodPlacementConfigs Pointers(const std::vector<PodPlacementConfig>& configs) {
  PodPlacementConfigs pointers;
  pointers.reserve(configs.size());
  for (const PodPlacementConfig& config : configs) pointers.push_back(&config);
  return pointers;
}

}  // namespace api
