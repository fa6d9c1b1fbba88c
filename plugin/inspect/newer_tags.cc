// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/newer_tags.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace plugin {
namespace {

// "v1.27.3-alpine" -> "v", {1, 27, 3}, "-alpine"
struct Version {
  std::string_view prefix;
  std::vector<uint32_t> numbers;
  std::string_view suffix;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<Version> VersionOf(std::string_view tag) {
  Version version;
  const auto first = std::find_if(tag.begin(), tag.end(), IsDigit);
  if (first == tag.end()) return std::nullopt;
  version.prefix = tag.substr(0, static_cast<size_t>(first - tag.begin()));
  std::string_view rest = tag.substr(version.prefix.size());
  while (true) {
    uint32_t number = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    // A date or a hash of digits alone is too large.
    if (error != std::errc()) return std::nullopt;
    version.numbers.push_back(number);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest.size() < 2 || rest[0] != '.' || !IsDigit(rest[1])) break;
    rest.remove_prefix(1);
  }
  version.suffix = rest;
  return version;
}

}  // namespace

std::vector<std::string> NewerTags(std::string_view tag, const std::vector<std::string>& tags,
                                   size_t limit) {
  std::optional<Version> own = VersionOf(tag);
  if (!own) return {};
  std::vector<std::pair<std::vector<uint32_t>, std::string_view>> newer;
  for (const std::string& other : tags) {
    std::optional<Version> version = VersionOf(other);
    if (version && version->prefix == own->prefix && version->suffix == own->suffix &&
        version->numbers > own->numbers)
      newer.emplace_back(std::move(version->numbers), other);
  }
  std::sort(newer.rbegin(), newer.rend());
  std::vector<std::string> found;
  for (size_t i = 0; i < std::min(newer.size(), limit); ++i) found.emplace_back(newer[i].second);
  return found;
}

}  // namespace plugin
