// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kube {

// The longest start of `text` that has at most `size` bytes and does not end inside a UTF-8
// character: half a character would be invalid.
inline std::string_view CutUtf8(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace kube
