// SPDX-License-Identifier: Apache-2.0
// ImageManifest: the layers of an image, and which image of an index is for a platform. Pure; the
// documents are untrusted.
// Source: OCI Image Spec 1.1 (image-index.md, manifest.md), Docker Image Manifest V2 schema 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"

namespace exec_format {

// Linux mounts at most 500 layers.
inline constexpr size_t kMaxLayers = 500;

struct LayerDescriptor {
  std::string digest;
  std::string media_type;
  uint64_t size = 0;
};

struct ImageManifest {
  std::string config_digest;
  std::vector<LayerDescriptor> layers;  // from the bottom up
};

struct WantedPlatform {
  std::string os = "linux";
  std::string architecture;
  std::string variant = {};  // "": any
};

// kInvalid for what is not the manifest of an image.
kube::Result<ImageManifest> ParseImageManifest(std::string_view body);

// Whether the document is an index, and not a manifest. kInvalid for what is neither.
kube::Result<bool> IsIndex(std::string_view body);

struct IndexChoice {
  // Of the image for the platform; "" if the index itself has none.
  std::string digest;
  // Of the indexes in the index, which may have it.
  std::vector<std::string> nested;
};
// An entry with the variant comes first, then one that names none. kInvalid for what is no index.
kube::Result<IndexChoice> ChooseFromIndex(std::string_view body, const WantedPlatform& platform);

// Whether container runtimes, and this reader, unpack layers of the type: tar files, plain or with
// gzip or zstd. Not those that are encrypted or not distributed.
bool IsReadableLayer(std::string_view media_type);

}  // namespace exec_format
