// SPDX-License-Identifier: Apache-2.0
// Printable: text of other people on one line of a terminal. Events, annotations and conditions are
// written by whoever may, and could otherwise have sequences that the terminal carries out.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/one_line.h"

namespace plugin {

// Control characters, also those of ISO 8859-1 as UTF-8, become spaces; at most 2,000 bytes.
inline std::string Printable(std::string_view text) {
  std::string line = kube::OneLine(text);
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const auto next = static_cast<unsigned char>(line[i + 1]);
    if (line[i] == '\xc2' && next >= 0x80 && next < 0xa0) line.replace(i, 2, "  ");
  }
  return line;
}

}  // namespace plugin
