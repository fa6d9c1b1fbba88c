// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace api {

// Printed by --version, and part of the status of a PodPlacementConfig.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace api
