// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_manifest.h"

#include <algorithm>
#include <array>

#include "inspection/base/manifest.h"
#include "inspection/base/reference.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"

namespace exec_format {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

constexpr size_t kMaxEntries = 1024;
constexpr size_t kMaxNested = 16;

Result<Json> ParseDocument(std::string_view body) {
  if (body.size() > inspection::kMaxManifestBytes)
    return Error::Invalid("manifest larger than 4 MiB");
  Result<Json> json = kube::ParseJson(body);
  if (!json) return json.error().Prefix("manifest");
  if (!json->is_object()) return Error::Invalid("the manifest is not an object");
  return json;
}

// "" for what is no digest.
std::string DigestOf(const Json& descriptor) {
  std::string digest = kube::StringAt(descriptor, "digest");
  return inspection::IsDigest(digest) ? digest : std::string();
}

}  // namespace

Result<bool> IsIndex(std::string_view body) {
  Result<Json> json = ParseDocument(body);
  if (!json) return json.error();
  const bool has_images = json->contains("manifests");
  const bool has_layers = json->contains("layers") || json->contains("config");
  // Two readers must not see two different images under one digest (CVE-2021-41190).
  if (has_images == has_layers) return Error::Invalid("neither an index nor a manifest");
  return has_images;
}

Result<ImageManifest> ParseImageManifest(std::string_view body) {
  Result<Json> json = ParseDocument(body);
  if (!json) return json.error();
  ImageManifest manifest;
  manifest.config_digest = DigestOf(kube::ObjectAt(*json, "config"));
  if (manifest.config_digest.empty()) return Error::Invalid("manifest without a config");
  const Json& layers = kube::ListAt(*json, "layers");
  if (layers.size() > kMaxLayers) return Error::Invalid("the image has more than 500 layers");
  for (const Json& layer : layers) {
    LayerDescriptor descriptor{.digest = DigestOf(layer),
                               .media_type = kube::StringAt(layer, "mediaType")};
    if (descriptor.digest.empty()) return Error::Invalid("layer without a digest");
    const Json* size = kube::Find(layer, "size");
    if (size == nullptr || !size->is_number_unsigned())
      return Error::Invalid("layer without a size");
    descriptor.size = size->get<uint64_t>();
    manifest.layers.push_back(std::move(descriptor));
  }
  return manifest;
}

Result<IndexChoice> ChooseFromIndex(std::string_view body, const WantedPlatform& platform) {
  Result<Json> json = ParseDocument(body);
  if (!json) return json.error();
  const Json& entries = kube::ListAt(*json, "manifests");
  if (entries.size() > kMaxEntries) return Error::Invalid("index with more than 1024 entries");
  IndexChoice choice;
  // 3: the same variant; 2: no variant; 1: any.
  int best = 0;
  for (const Json& entry : entries) {
    std::string digest = DigestOf(entry);
    if (digest.empty()) continue;
    const std::string type = kube::StringAt(entry, "mediaType");
    if (type == inspection::kOciIndex || type == inspection::kDockerList) {
      if (choice.nested.size() < kMaxNested) choice.nested.push_back(std::move(digest));
      continue;
    }
    const Json& own = kube::ObjectAt(entry, "platform");
    if (kube::StringAt(own, "os") != platform.os) continue;
    std::optional<std::string> architecture =
        inspection::NormalizeArchitecture(kube::StringAt(own, "architecture"));
    if (!architecture || *architecture != platform.architecture) continue;
    const std::string variant = kube::StringAt(own, "variant");
    const int match = variant == platform.variant ? 3
                      : variant.empty()           ? 2
                      : platform.variant.empty()  ? 1
                                                  : 0;
    if (match <= best) continue;
    best = match;
    choice.digest = std::move(digest);
  }
  return choice;
}

bool IsReadableLayer(std::string_view media_type) {
  static constexpr std::array<std::string_view, 7> kReadable = {
      "",  // runtimes tell the format by the first bytes
      "application/vnd.oci.image.layer.v1.tar",
      "application/vnd.oci.image.layer.v1.tar+gzip",
      "application/vnd.oci.image.layer.v1.tar+zstd",
      "application/vnd.docker.image.rootfs.diff.tar",
      "application/vnd.docker.image.rootfs.diff.tar.gzip",
      "application/vnd.docker.image.rootfs.diff.tar.zstd",
  };
  return std::find(kReadable.begin(), kReadable.end(), media_type) != kReadable.end();
}

}  // namespace exec_format
