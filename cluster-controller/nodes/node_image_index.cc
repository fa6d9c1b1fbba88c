// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/nodes/node_image_index.h"

#include <algorithm>

#include "api/architecture.h"
#include "api/names.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"
#include "kube/types/meta.pb.h"

namespace cluster_controller {
namespace {

using kube::FieldReader;
using placement::Platform;

// The numbers of fields of core/v1.
constexpr int kMetadata = 1;
constexpr int kStatus = 3;
constexpr int kStatusImages = 8;
constexpr int kImageNames = 1;

// Longer names are no valid references.
constexpr size_t kMaxName = 1024;
// Of an entry, beside its name.
constexpr size_t kEntryBytes = 64;
constexpr size_t kMaxPlatforms = 64;

std::string LabelOf(const kube::meta::ObjectMeta& metadata, std::string_view key) {
  auto label = metadata.labels().find(std::string(key));
  return label == metadata.labels().end() ? "" : label->second;
}

}  // namespace

bool NodeImageIndex::Add(std::string_view node) {
  std::string_view metadata;
  std::string_view status;
  FieldReader fields(node);
  while (fields.Next()) {
    if (fields.number() == kMetadata) metadata = fields.bytes();
    if (fields.number() == kStatus) status = fields.bytes();
  }
  kube::meta::ObjectMeta parsed;
  if (fields.broken() || !kube::ParseMessage(metadata, parsed)) return false;
  ++nodes_;
  Platforms platform =
      PlatformOf({LabelOf(parsed, api::kOsLabel), LabelOf(parsed, api::kArchLabel)});
  if (platform == 0) return true;

  FieldReader of_status(status);
  while (of_status.Next()) {
    if (of_status.number() != kStatusImages) continue;
    FieldReader image(of_status.bytes());
    while (image.Next()) {
      if (image.number() == kImageNames) AddName(image.bytes(), platform);
    }
    if (image.broken()) return false;
  }
  return !of_status.broken();
}

// "docker.io/library/nginx@sha256:…" or "docker.io/library/nginx:1", as the runtime completes it.
void NodeImageIndex::AddName(std::string_view name, Platforms platform) {
  if (name.empty() || name.size() > kMaxName) return;
  size_t at = name.find('@');
  if (at == std::string_view::npos) {
    Put(tags_, max_bytes_ / 3, name, platform);
  } else if (inspection::IsDigest(name.substr(at + 1))) {
    Put(digests_, max_bytes_ - max_bytes_ / 3, name.substr(at + 1), platform);
  }
}

void NodeImageIndex::Put(Names& names, size_t max_bytes, std::string_view name,
                         Platforms platform) {
  std::string key(name);
  auto found = names.platforms.find(key);
  if (found != names.platforms.end()) {
    found->second |= platform;
    return;
  }
  if (names.bytes + name.size() + kEntryBytes > max_bytes) {
    ++left_out_;
    return;
  }
  names.bytes += name.size() + kEntryBytes;
  names.platforms.emplace(std::move(key), platform);
}

NodeImageIndex::Platforms NodeImageIndex::PlatformOf(const Platform& platform) {
  if (!placement::IsOsName(platform.os) || !api::IsArchitectureName(platform.architecture))
    return 0;
  auto found = std::find(platforms_.begin(), platforms_.end(), platform);
  if (found == platforms_.end()) {
    if (platforms_.size() == kMaxPlatforms) return 0;
    found = platforms_.insert(platforms_.end(), platform);
  }
  return Platforms{1} << (found - platforms_.begin());
}

placement::ImagePlatforms NodeImageIndex::Find(const inspection::Reference& image) const {
  const Names& names = image.digest.empty() ? tags_ : digests_;
  auto found =
      names.platforms.find(image.digest.empty() ? image.Name() + ":" + image.tag : image.digest);
  placement::ImagePlatforms platforms;
  if (found == names.platforms.end()) return platforms;
  for (size_t i = 0; i < platforms_.size(); ++i) {
    if ((found->second >> i & 1) != 0) platforms.platforms.push_back(platforms_[i]);
  }
  std::sort(platforms.platforms.begin(), platforms.platforms.end());
  return platforms;
}

}  // namespace cluster_controller
