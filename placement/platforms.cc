// SPDX-License-Identifier: Apache-2.0
#include "placement/platforms.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace placement {
namespace {

template <typename T>
std::set<T> Intersection(const std::set<T>& a, const std::set<T>& b) {
  std::set<T> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

std::map<std::string, ArchitectureSet> ByOs(const ImagePlatforms& image) {
  std::map<std::string, ArchitectureSet> by_os;
  for (const Platform& platform : image.platforms) by_os[platform.os].insert(platform.architecture);
  return by_os;
}

// "10.0.17763" -> whether nodes of later builds cannot run it.
bool NeedsItsBuild(std::string_view build) {
  constexpr int kFirstOfStableAbi = 20348;
  int number = 0;
  std::string_view last = build.substr(build.rfind('.') + 1);
  auto [end, failure] = std::from_chars(last.data(), last.data() + last.size(), number);
  return failure == std::errc() && number < kFirstOfStableAbi;
}

// nullopt if nodes of other builds can run the image, or it does not tell.
std::optional<std::set<std::string>> WindowsBuilds(const ImagePlatforms& image) {
  std::set<std::string> builds;
  for (const Platform& platform : image.platforms) {
    if (platform.os != kWindows) continue;
    if (!NeedsItsBuild(platform.windows_build)) return std::nullopt;
    builds.insert(platform.windows_build);
  }
  return builds;
}

// The lowest level that runs the image; 0 if it is not for linux on amd64.
int Amd64Level(const ImagePlatforms& image) {
  std::optional<int> lowest;
  for (const Platform& platform : image.platforms) {
    if (platform.os != kLinux || platform.architecture != kAmd64) continue;
    lowest = std::min(lowest.value_or(platform.amd64_level), platform.amd64_level);
  }
  return lowest.value_or(0);
}

}  // namespace

CommonPlatforms::CommonPlatforms(ArchitectureSet linux) {
  if (!linux.empty()) by_os.emplace(kLinux, std::move(linux));
}

const ArchitectureSet& CommonPlatforms::On(const std::string& os) const {
  static const ArchitectureSet kNone;
  if (every) return AllArchitectures();
  auto found = by_os.find(os);
  return found == by_os.end() ? kNone : found->second;
}

CommonPlatforms Common(std::span<const SharedPlatforms> images) {
  CommonPlatforms common;
  common.every = true;
  std::optional<std::set<std::string>> builds;
  for (const SharedPlatforms& image : images) {
    if (image->every) continue;
    common.amd64_level = std::max(common.amd64_level, Amd64Level(*image));
    std::map<std::string, ArchitectureSet> own = ByOs(*image);
    if (std::exchange(common.every, false)) {
      common.by_os = std::move(own);
    } else {
      for (auto& [os, architectures] : common.by_os)
        architectures = Intersection(architectures, own[os]);
      std::erase_if(common.by_os, [](const auto& entry) { return entry.second.empty(); });
    }
    std::optional<std::set<std::string>> own_builds = WindowsBuilds(*image);
    if (own_builds) builds = builds ? Intersection(*builds, *own_builds) : std::move(*own_builds);
  }
  if (builds && common.by_os.contains(std::string(kWindows)))
    common.windows_builds = std::move(*builds);
  if (!common.On(std::string(kLinux)).contains(std::string(kAmd64))) common.amd64_level = 0;
  return common;
}

}  // namespace placement
