// SPDX-License-Identifier: Apache-2.0
// Titled: a line of an answer, with its title in a column of its own.
#pragma once

#include <algorithm>
#include <string>

#include "plugin/text/printable.h"
#include "plugin/text/style.h"

namespace plugin {

inline constexpr size_t kTitleWidth = 10;

inline std::string Titled(std::string title, const std::string& text, Style style = {}) {
  title.resize(std::max(title.size() + 1, kTitleWidth), ' ');
  return style.Bold(title) + Printable(text) + "\n";
}

}  // namespace plugin
