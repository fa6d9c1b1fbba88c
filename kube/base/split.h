// SPDX-License-Identifier: Apache-2.0
// Comma-separated lists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kube {

// "a,b" -> {"a", "b"}; skips empty parts.
inline std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
  }
  return parts;
}

}  // namespace kube
