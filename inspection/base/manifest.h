// SPDX-License-Identifier: Apache-2.0
// Manifest: the parts of image manifests that matter for placement.
//
//   Result<Manifest> manifest = ParseManifest(body);
//   index  -> has the platforms; nested indexes and entries without platform must be fetched
//   image  -> the config blob must be fetched, for ParseImageConfig()
//
// The type of a manifest is decided by its body, which the digest covers, not by the Content-Type
// header. Docker's schema 1 is not supported: its digest covers only a part of the document.
//
// Architectures are GOARCH names as on nodes ("x86_64" is read as "amd64"). Input is untrusted:
// names that cannot be architectures are skipped, so that they never get into a pod. Source: OCI
// Image Spec 1.1 (image-index.md, manifest.md, config.md), Docker Image Manifest V2 schema 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "placement/platforms.h"

namespace inspection {

inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kDockerList =
    "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerManifest =
    "application/vnd.docker.distribution.manifest.v2+json";

// Larger manifests and config blobs are refused. Registries have the same limit for manifests.
inline constexpr size_t kMaxManifestBytes = 4u << 20;

using placement::Platform;

struct Descriptor {
  std::string digest;
  size_t size = 0;
};

struct Manifest {
  enum class Kind { kIndex, kImage };
  Kind kind = Kind::kImage;
  // kIndex: the platforms of the images in it, sorted, each once.
  std::vector<Platform> platforms;
  // kIndex: the nested indexes.
  std::vector<Descriptor> nested;
  // kIndex: entries whose own config tells the platform; some may be no images.
  std::vector<Descriptor> without_platform;
  // kIndex: the image, if there is only one.
  std::optional<Descriptor> only_image;
  // kImage: the config blob.
  Descriptor config;
  // kImage: it says that it is no image: a chart, a signature, an SBOM.
  bool artifact = false;
};

struct ImageConfig {
  Platform platform;  // without architecture: of a bundle that names none
  // An operator bundle (operator-sdk): it contains manifests and no program, so it is for every
  // architecture.
  bool bundle = false;
};

// Without a mediaType in the document, its members decide the kind. kInvalid for other documents,
// for one that can be read both as an index and as an image, and for schema 1.
kube::Result<Manifest> ParseManifest(std::string_view body);

// kInvalid if the config names no platform and is no bundle. An absent os is "linux".
kube::Result<ImageConfig> ParseImageConfig(std::string_view body);

// "x86_64" -> "amd64"; nullopt for names that cannot be an architecture (api/architecture.h).
std::optional<std::string> NormalizeArchitecture(std::string_view name);

// "10.0.20348.1668" -> "10.0.20348", as nodes have it in a label; "" for other texts.
std::string WindowsBuild(std::string_view os_version);

}  // namespace inspection
