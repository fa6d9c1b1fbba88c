// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/properties.h"

namespace fleet {

Properties::Properties(const std::map<std::string, std::string>& values) {
  size_t size = 0;
  for (const auto& [name, value] : values) size += name.size() + value.size();
  text_.reserve(size);
  ends_.reserve(2 * values.size());
  for (const auto& [name, value] : values) {
    for (const std::string* part : {&name, &value}) {
      text_ += *part;
      ends_.push_back(static_cast<uint32_t>(text_.size()));
    }
  }
}

std::string_view Properties::Part(size_t part) const {
  size_t begin = part == 0 ? 0 : ends_[part - 1];
  return std::string_view(text_).substr(begin, ends_[part] - begin);
}

std::pair<std::string_view, std::string_view> Properties::At(size_t index) const {
  return {Part(2 * index), Part(2 * index + 1)};
}

std::optional<std::string_view> Properties::Find(std::string_view name) const {
  size_t low = 0;
  size_t high = size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = Part(2 * middle).compare(name);
    if (order == 0) return Part(2 * middle + 1);
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::nullopt;
}

}  // namespace fleet
