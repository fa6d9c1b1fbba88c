// SPDX-License-Identifier: Apache-2.0
// ImageFact: what a registry has said about an image, when, and for which pods that counts.
//
// In an object (image_facts.h), a fact is one line. The platforms, and the scope if it has one, are
// an index into a list:
//
//   docker.io/library/nginx:1.27 sha256:0123… 0 1732700000
//   quay.io/team-a/app:1 sha256:4567… 1 1732700000 0
//   ["linux/amd64 linux/arm64", "linux/amd64/v3", "windows/amd64/10.0.20348", "*"]
//   ["team-a default registry-key"]
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "placement/platforms.h"

namespace image_facts {

using Seconds = std::chrono::sys_seconds;
inline Seconds SecondsNow(const kube::Clock& clock) {
  return std::chrono::floor<std::chrono::seconds>(clock.WallNow());
}

// A longer name is not a fact: no container runtime accepts it.
inline constexpr size_t kMaxImageName = 512;

struct ImageFact {
  std::string image;   // inspection::Reference::ToString()
  std::string digest;  // of the manifest or index
  placement::SharedPlatforms platforms;
  Seconds read{};
  std::string scope = {};  // fact_scope.h
};

// "linux/amd64 linux/arm64"; "*" for images that never run. Platforms without a valid name are left
// out, as they are in a pod; "" if none is left, or more than 64.
std::string PlatformsToText(const placement::ImagePlatforms& platforms);
// Untrusted text. nullopt if it names no platform, more than 64, or one that has no valid name.
std::optional<placement::ImagePlatforms> PlatformsFromText(std::string_view text);

// A line of an object.
struct FactLine {
  std::string_view image;
  std::string_view digest;
  size_t platforms = 0;  // an index into the object's list
  Seconds read{};
  std::optional<size_t> scope = {};  // an index into the object's list; nullopt: every pod
};

std::string ToText(const FactLine& line);
// Untrusted text; nullopt if it is not such a line. The result has views into `text`.
std::optional<FactLine> FactLineFromText(std::string_view text);

}  // namespace image_facts
