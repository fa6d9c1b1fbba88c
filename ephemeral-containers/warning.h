// SPDX-License-Identifier: Apache-2.0
// The warning about an ephemeral container whose image is not for its node. Pure.
//
//   std::string text = WarningFor({.container = "debugger", .image = "docker.io/library/x:1"},
//                                 {.name = "worker-3", .os = "linux", .architecture = "arm64"},
//                                 platforms);
//   // image "docker.io/library/x:1" of the ephemeral container "debugger" is not for arm64, the
//   // architecture of the node "worker-3"; it is for amd64, s390x
#pragma once

#include <cstddef>
#include <string>

#include "placement/platforms.h"

namespace ephemeral {

// The API server cuts longer ones.
inline constexpr size_t kMaxWarningBytes = 256;

struct NodePlatform {
  std::string name;
  std::string os;            // GOOS
  std::string architecture;  // GOARCH
};

// As users write them: untrusted.
struct NamedImage {
  std::string container;
  std::string image;
};

// "" if the image is for the node. `platforms`: of the image. Returns: at most kMaxWarningBytes of
// printable ASCII. It names the container, the architecture and the start and end of the image,
// however long the names are.
std::string WarningFor(const NamedImage& image, const NodePlatform& node,
                       const placement::CommonPlatforms& platforms);

}  // namespace ephemeral
