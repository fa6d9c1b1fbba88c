// SPDX-License-Identifier: Apache-2.0
#include "image-facts/image_fact.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "api/architecture.h"
#include "inspection/base/reference.h"

namespace image_facts {
namespace {

using placement::ImagePlatforms;
using placement::Platform;

constexpr std::string_view kEvery = "*";
constexpr size_t kMaxPlatforms = 64;
constexpr size_t kMaxWindowsBuild = 32;

// Removes the text before the next `separator`, and the separator.
std::string_view Take(std::string_view& text, char separator) {
  std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

template <class Number>
bool Read(std::string_view text, Number& number) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

bool HasValidNames(const Platform& platform) {
  return placement::IsOsName(platform.os) && api::IsArchitectureName(platform.architecture);
}

bool IsWindowsBuild(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWindowsBuild &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string ToText(const Platform& platform) {
  std::string text = platform.os + "/" + platform.architecture;
  if (platform.amd64_level > 0) return text + "/v" + std::to_string(platform.amd64_level);
  // An image may say anything; any other build would require a node that does not exist.
  if (IsWindowsBuild(platform.windows_build)) return text + "/" + platform.windows_build;
  return text;
}

std::optional<Platform> PlatformFromText(std::string_view text) {
  Platform platform;
  platform.os = Take(text, '/');
  platform.architecture = Take(text, '/');
  if (!HasValidNames(platform)) return std::nullopt;
  if (text.empty()) return platform;
  if (text.starts_with('v')) {
    bool valid = Read(text.substr(1), platform.amd64_level) && platform.amd64_level >= 2 &&
                 platform.amd64_level <= 4;
    return valid ? std::optional(std::move(platform)) : std::nullopt;
  }
  if (!IsWindowsBuild(text)) return std::nullopt;
  platform.windows_build = text;
  return platform;
}

}  // namespace

std::string PlatformsToText(const ImagePlatforms& platforms) {
  if (platforms.every) return std::string(kEvery);
  std::string text;
  size_t count = 0;
  for (const Platform& platform : platforms.platforms) {
    if (!HasValidNames(platform)) continue;
    if (++count > kMaxPlatforms) return "";
    if (!text.empty()) text += ' ';
    text += ToText(platform);
  }
  return text;
}

std::optional<ImagePlatforms> PlatformsFromText(std::string_view text) {
  ImagePlatforms platforms;
  if (text == kEvery) {
    platforms.every = true;
    return platforms;
  }
  while (!text.empty()) {
    std::optional<Platform> platform = PlatformFromText(Take(text, ' '));
    if (!platform || platforms.platforms.size() == kMaxPlatforms) return std::nullopt;
    platforms.platforms.push_back(std::move(*platform));
  }
  if (platforms.platforms.empty()) return std::nullopt;
  std::vector<Platform>& all = platforms.platforms;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return platforms;
}

std::string ToText(const FactLine& line) {
  std::string text;
  text.reserve(line.image.size() + line.digest.size() + 32);
  text += line.image;
  text += ' ';
  text += line.digest;
  text += ' ';
  text += std::to_string(line.platforms);
  text += ' ';
  text += std::to_string(line.read.time_since_epoch().count());
  if (line.scope) text += ' ' + std::to_string(*line.scope);
  return text;
}

std::optional<FactLine> FactLineFromText(std::string_view text) {
  FactLine line;
  line.image = Take(text, ' ');
  line.digest = Take(text, ' ');
  std::string_view platforms = Take(text, ' ');
  const bool scoped = text.find(' ') != std::string_view::npos;
  std::string_view time = Take(text, ' ');
  int64_t read = 0;
  if (line.image.empty() || line.image.size() > kMaxImageName ||
      !inspection::IsDigest(line.digest) || !Read(platforms, line.platforms) || !Read(time, read) ||
      read < 0)
    return std::nullopt;
  if (scoped && !Read(text, line.scope.emplace())) return std::nullopt;
  line.read = Seconds(std::chrono::seconds(read));
  return line;
}

}  // namespace image_facts
