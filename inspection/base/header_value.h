// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace inspection {

// Whether `text` fits into a header as it is: printable ASCII without spaces. True for "".
inline bool FitsIntoHeader(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace inspection
