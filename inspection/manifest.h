// SPDX-License-Identifier: Apache-2.0
// Manifest: what a registry says an image is, reduced to what matters for placement.
//
//   Result<Manifest> manifest = ParseManifest(body);
//   index  -> platforms at hand, nested indexes to fetch
//   image  -> the config blob to fetch, then ParseImageConfig()
//
// The bytes alone decide what a manifest is: they have a digest, the Content-Type of an answer has
// none. Docker's schema 1 is not supported: its digest covers only a part of the document.
//
// Architectures are GOARCH names as nodes have them ("x86_64" is read as "amd64"). Input is
// untrusted: whatever cannot be the name of an architecture is left out, so it can never reach a
// pod. Source: OCI Image Spec 1.1 (image-index.md, manifest.md, config.md), Docker Image Manifest
// V2 schema 2.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"

namespace inspection {

inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kDockerList =
    "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerManifest =
    "application/vnd.docker.distribution.manifest.v2+json";

// Larger manifests and config blobs are refused; the registries' own limit for manifests.
inline constexpr size_t kMaxManifestBytes = 4u << 20;

struct Platform {
  std::string os;
  std::string architecture;
  auto operator<=>(const Platform&) const = default;
};

struct Descriptor {
  std::string digest;
  size_t size = 0;
};

struct Manifest {
  enum class Kind { kIndex, kImage };
  Kind kind = Kind::kImage;
  // kIndex: of the entries that are images, sorted, each once.
  std::vector<Platform> platforms;
  // kIndex: entries that are indexes themselves.
  std::vector<Descriptor> nested;
  // kIndex: the image, if there is only one.
  std::optional<Descriptor> only_image;
  // kImage: the config blob.
  Descriptor config;
};

struct ImageConfig {
  Platform platform;
  // An operator bundle (operator-sdk): manifests only, nothing to run, so it suits every
  // architecture.
  bool bundle = false;
};

// Where the document names no mediaType, its members decide. kInvalid for anything that is not a
// manifest, for one that could be read as an index and as an image, and for schema 1.
kube::Result<Manifest> ParseManifest(std::string_view body);

// kInvalid if the config names no architecture and is no bundle. An absent os is "linux".
kube::Result<ImageConfig> ParseImageConfig(std::string_view body);

// "x86_64" -> "amd64"; nullopt for what cannot be an architecture: empty, "unknown", too long, or
// odd characters.
std::optional<std::string> NormalizeArchitecture(std::string_view name);

}  // namespace inspection
