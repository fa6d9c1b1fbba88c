// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kube {

// `text` for a log line: at most 2000 bytes, with control characters as spaces. Messages contain
// text from the cluster and from remote servers, which must not inject log lines.
inline std::string OneLine(std::string_view text) {
  constexpr size_t kMaxLength = 2000;
  std::string line(text.substr(0, kMaxLength));
  for (char& c : line) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace kube
