// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace kube {

// Whether `name` has the length and the characters of a DNS subdomain, as object names must.
inline bool IsObjectName(std::string_view name) {
  constexpr size_t kMaxName = 253;
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace kube
