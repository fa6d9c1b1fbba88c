// SPDX-License-Identifier: Apache-2.0
// Timing: how long a fact counts at the creation of a pod.
#pragma once

#include <chrono>

#include "inspection/base/timing.h"

namespace image_facts {

// What a tag named, for a pod with imagePullPolicy Always: as the cluster controller's cache does.
// A digest never names another image.
inline constexpr std::chrono::seconds kAlwaysLifetime =
    std::chrono::duration_cast<std::chrono::seconds>(inspection::kTagLifetime);
// For other pods: a node may use an image that it pulled long ago.
inline constexpr std::chrono::minutes kLifetime{10};
// The clock of whoever has read it may be ahead by this.
inline constexpr std::chrono::seconds kClockSkew{30};

}  // namespace image_facts
