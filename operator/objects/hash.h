// SPDX-License-Identifier: Apache-2.0
// A short hash of content that distinguishes versions; not for secrecy or authenticity.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace operator_ {

// 16 hexadecimal digits (FNV-1a, 64 bits): the same in every process and version.
inline std::string HashOf(std::string_view content) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : content) hash = (hash ^ c) * 0x100000001b3u;
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4)
    *digit = "0123456789abcdef"[hash & 15];
  return text;
}

}  // namespace operator_
