// SPDX-License-Identifier: Apache-2.0
// Platform: a preferred architecture and its weight.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/fields.h"

namespace api {

// The architectures that a config can name.
inline constexpr std::array<std::string_view, 4> kArchitectures = {"arm64", "amd64", "ppc64le",
                                                                   "s390x"};

struct Platform {
  std::string architecture;
  // Added to the scheduler's score of a node of this architecture.
  int32_t weight = 0;

  bool operator==(const Platform&) const = default;
  static void Fields(auto& platform, auto& field) {
    field("architecture", platform.architecture, OneOf{kArchitectures}, kRequired);
    field("weight", platform.weight, Range{.low = 1, .high = 100}, kRequired);
  }
};

}  // namespace api
