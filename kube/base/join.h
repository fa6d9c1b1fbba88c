// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace kube {

// "a, b and 3 more": at most `shown` of `items`, a vector, span or array of strings.
template <class Items>
std::string Join(const Items& items, size_t shown = static_cast<size_t>(-1)) {
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), shown); ++i) {
    if (i > 0) text += ", ";
    text += items[i];
  }
  if (items.size() > shown) text += " and " + std::to_string(items.size() - shown) + " more";
  return text;
}

}  // namespace kube
