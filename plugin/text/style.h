// SPDX-License-Identifier: Apache-2.0
// Style: bold text and colours, where a person sees them: on a terminal that has them, and if the
// environment does not have NO_COLOR.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace plugin {

class Style {
 public:
  // Without any.
  Style() = default;
  static Style OfStdout() {
    const char* terminal = std::getenv("TERM");
    const char* no_color = std::getenv("NO_COLOR");
    Style style;
    style.is_shown_ = isatty(STDOUT_FILENO) == 1 && terminal != nullptr &&
                      std::string_view(terminal) != "dumb" &&
                      (no_color == nullptr || *no_color == '\0');
    return style;
  }

  std::string Bold(const std::string& text) const { return With("1", text); }
  std::string Good(const std::string& text) const { return With("32", text); }
  std::string Bad(const std::string& text) const { return With("31", text); }
  // Between two answers: an empty screen, or a line.
  std::string NewScreen() const { return is_shown_ ? "\x1b[2J\x1b[H" : "---\n"; }

 private:
  std::string With(const char* code, const std::string& text) const {
    if (!is_shown_ || text.empty()) return text;
    return "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
  }

  bool is_shown_ = false;
};

}  // namespace plugin
