// SPDX-License-Identifier: Apache-2.0
// Properties: the labels or claims of a cluster, sorted by name, in two allocations. A hub holds
// thousands of clusters and compares their labels with every Placement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fleet {

class Properties {
 public:
  Properties() = default;
  explicit Properties(const std::map<std::string, std::string>& values);

  std::optional<std::string_view> Find(std::string_view name) const;
  size_t size() const { return ends_.size() / 2; }
  // The name and the value at `index`, by name. Valid as long as this object.
  std::pair<std::string_view, std::string_view> At(size_t index) const;

  bool operator==(const Properties&) const = default;

 private:
  std::string_view Part(size_t part) const;

  std::string text_;            // name, value, name, value, ...
  std::vector<uint32_t> ends_;  // of each of them, in text_
};

}  // namespace fleet
