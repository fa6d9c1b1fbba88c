// SPDX-License-Identifier: Apache-2.0
// InOrder(): the entries of a protobuf map in the order of their keys.
//
// The order of a google::protobuf::Map differs from copy to copy, and from run to run. Where it
// reaches a message, a text that is compared, or the choice of a limit, loop over this instead:
//
//   for (const auto& [key, value] : InOrder(config_map.data())) ...
#pragma once

#include <map>
#include <string_view>

namespace kube {

// Refers to the strings of `map`.
template <class Map>
std::map<std::string_view, std::string_view> InOrder(const Map& map) {
  std::map<std::string_view, std::string_view> entries;
  for (const auto& [key, value] : map) entries.emplace(key, value);
  return entries;
}

}  // namespace kube
