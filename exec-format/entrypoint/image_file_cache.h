// SPDX-License-Identifier: Apache-2.0
// ImageFileCache: what was found out about files of images, without limit of time: a digest names
// the same content for ever. The least recently used answers go when the budget of bytes is full.
//
//   const std::string key = ImageFileKey(digest, platform, question);
//   if (const ImageFile* known = cache.Find(key)) return *known;
//   ... cache.Put(key, std::move(*file));
//
// Errors are not for this cache: they may pass. An answer of a private image serves everybody who
// knows its digest, as its platforms do (inspection/README.md). Thread: one.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "exec-format/entrypoint/image_file.h"
#include "exec-format/entrypoint/image_files.h"
#include "kube/base/lru_map.h"

namespace exec_format {

// An answer takes about a kilobyte.
inline constexpr size_t kMaxCacheBytes = 1u << 20;

// A digest of all that the answer depends on, with the limits left out.
std::string ImageFileKey(std::string_view digest, const WantedPlatform& platform,
                         const FileQuestion& question);

class ImageFileCache {
 public:
  explicit ImageFileCache(size_t max_bytes = kMaxCacheBytes) : max_bytes_(max_bytes) {}

  // Null if it is not there; valid until the next Put().
  const ImageFile* Find(const std::string& key) { return files_.Find(key); }
  // An answer that is larger than the whole budget is not kept.
  void Put(const std::string& key, ImageFile file);

  size_t size() const { return files_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  void Erase(const std::string& key);

  size_t max_bytes_;
  size_t bytes_ = 0;
  // The bytes bound it.
  kube::LruMap<ImageFile> files_{std::numeric_limits<size_t>::max()};
};

}  // namespace exec_format
