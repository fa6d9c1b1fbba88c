// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace api {

// What --version prints and what the status of a shard says.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace api
