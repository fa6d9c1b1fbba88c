// SPDX-License-Identifier: Apache-2.0
// Platform: a preferred architecture and its weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "api/fields.h"

namespace api {

// Of one list: room for each known architecture (architecture.h), and a few others.
inline constexpr size_t kMaxPlatforms = 16;

struct Platform {
  std::string architecture;
  // Added to the scheduler's score of a node of this architecture.
  int32_t weight = 0;

  bool operator==(const Platform&) const = default;
  static void Fields(auto& platform, auto& field) {
    field("architecture", platform.architecture, Architecture{}, kRequired);
    field("weight", platform.weight, Range{.low = 1, .high = 100}, kRequired);
  }
};

}  // namespace api
