// SPDX-License-Identifier: Apache-2.0
// The order of resourceVersions of one kind, where a program needs to know which is newer.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace kube {

// The number of a resourceVersion; 0 unless it is a decimal uint64 without sign or spaces.
inline uint64_t VersionNumber(std::string_view resource_version) {
  uint64_t number = 0;
  const char* end = resource_version.data() + resource_version.size();
  auto [last, failure] = std::from_chars(resource_version.data(), end, number);
  return failure == std::errc() && last == end ? number : 0;
}

}  // namespace kube
