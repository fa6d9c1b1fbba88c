// SPDX-License-Identifier: Apache-2.0
// Platforms: what images are for, and what the images of a pod have in common.
//
//   CommonPlatforms common = Common(images);   // one entry for each image of the pod
//   common.On("linux")                         // the architectures that all of them support there
//
// Images are untrusted: names of architectures are checked where they get into a pod
// (requirement.h).
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/architecture.h"
#include "placement/architecture.h"

namespace placement {

inline constexpr std::string_view kLinux = "linux";
inline constexpr std::string_view kWindows = "windows";
inline constexpr std::string_view kAmd64 = "amd64";

// GOOS names have the form of GOARCH names.
inline bool IsOsName(std::string_view name) { return api::IsArchitectureName(name); }

struct Platform {
  std::string os;
  std::string architecture;
  // "10.0.20348": the Windows that the image is for. Empty: not known, or another system.
  std::string windows_build = {};
  // 2 to 4: the level of x86-64 that the image needs (OCI variant "v3"). 0: every amd64 runs it, or
  // another architecture.
  int amd64_level = 0;
  auto operator<=>(const Platform&) const = default;
};

// What is known of one image.
struct ImagePlatforms {
  std::vector<Platform> platforms;  // sorted, each once
  // It never runs: an operator bundle, or a volume that is the same on every platform.
  bool every = false;

  bool operator==(const ImagePlatforms&) const = default;
};

// Cached images are shared, not copied.
using SharedPlatforms = std::shared_ptr<const ImagePlatforms>;

struct CommonPlatforms {
  CommonPlatforms() = default;
  // Architectures without an operating system are those of linux.
  CommonPlatforms(ArchitectureSet linux);  // NOLINT: a set is what images of linux have in common

  // GOARCH names; empty if the images cannot run on this operating system.
  const ArchitectureSet& On(const std::string& os) const;

  // There is no image that runs.
  bool every = false;
  // By operating system; without empty sets. Empty if `every`.
  std::map<std::string, ArchitectureSet> by_os;
  // The builds of Windows that nodes must have; empty: any. Only if all images tell theirs and one
  // is older than 20348: since then, newer nodes run older images, as they do with Hyper-V
  // isolation, for which a RuntimeClass selects the build.
  std::set<std::string> windows_builds;
  // 2 to 4: the level of x86-64 that linux nodes of amd64 must have: the highest of all images, of
  // each its lowest. 0: any.
  int amd64_level = 0;
};

CommonPlatforms Common(std::span<const SharedPlatforms> images);

}  // namespace placement
