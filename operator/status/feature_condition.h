// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace operator_ {

// A condition of the ClusterPodPlacementConfig that a feature (operator/feature.h) sets.
struct FeatureCondition {
  struct State {
    bool status = false;
    std::string reason;
    std::string message;

    bool operator==(const State&) const = default;
  };

  std::string_view type;
  // nullopt: the status has no such condition.
  std::optional<State> state;
};

}  // namespace operator_
