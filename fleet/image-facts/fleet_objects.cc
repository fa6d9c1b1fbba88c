// SPDX-License-Identifier: Apache-2.0
#include "fleet/image-facts/fleet_objects.h"

#include <algorithm>

namespace fleet {
namespace {

bool IsObjectOf(const image_facts::FactLimits& limits, std::string_view name) {
  std::optional<size_t> number = image_facts::ObjectNumber(name, limits.prefix);
  return number && *number < limits.objects;
}

}  // namespace

std::vector<std::string> SharedNames() {
  std::vector<std::string> names{std::string(kSharedHead)};
  for (size_t i = 0; i < kSharedLimits.objects; ++i)
    names.push_back(image_facts::ObjectName(i, kSharedLimits.prefix));
  return names;
}

std::string ToText(const SharedVersions& versions) {
  std::string text;
  for (const auto& [name, version] : versions) {
    if (!text.empty()) text += ' ';
    text.append(name).append("=").append(version);
  }
  return text;
}

SharedVersions SharedVersionsFromText(std::string_view text) {
  SharedVersions versions;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    size_t equals = item.find('=');
    if (equals == std::string_view::npos || !IsObjectOf(kSharedLimits, item.substr(0, equals)))
      continue;
    versions.emplace(item.substr(0, equals), item.substr(equals + 1));
  }
  return versions;
}

bool IsPublishedName(std::string_view name) { return IsObjectOf(kPublishedLimits, name); }

}  // namespace fleet
