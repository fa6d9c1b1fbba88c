// SPDX-License-Identifier: Apache-2.0
// DescribeAge: how long ago something was, for people.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace plugin {

// "12 s", "3 min", "2 h", "5 d"
inline std::string DescribeAge(std::chrono::seconds age) {
  const int64_t seconds = std::max<int64_t>(age.count(), 0);
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 24 * 3600;
  if (seconds < 2 * kMinute) return std::to_string(seconds) + " s";
  if (seconds < 2 * kHour) return std::to_string(seconds / kMinute) + " min";
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + " h";
  return std::to_string(seconds / kDay) + " d";
}

}  // namespace plugin
