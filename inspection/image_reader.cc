// SPDX-License-Identifier: Apache-2.0
#include "inspection/image_reader.h"

#include <algorithm>

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

constexpr int kMaxDepth = 3;
constexpr size_t kMaxNested = 8;
constexpr size_t kMaxPlatforms = 64;

void SortUnique(std::vector<Platform>& platforms) {
  std::sort(platforms.begin(), platforms.end());
  platforms.erase(std::unique(platforms.begin(), platforms.end()), platforms.end());
}

class Reader {
 public:
  Reader(RegistryClient& client, kube::TimePoint deadline) : client_(client), deadline_(deadline) {}

  Async<ImagePlatforms> Read(Repository repository, std::string version, int depth) {
    Result<Document> document =
        co_await client_.Manifest(repository, std::move(version), deadline_);
    if (!document) co_return document.error();
    Result<Manifest> manifest = ParseManifest(document->body);
    if (!manifest) co_return manifest.error();
    std::string digest = std::move(document->digest);
    document = Document();

    Result<ImagePlatforms> image = ImagePlatforms();
    switch (manifest->kind) {
      case Manifest::Kind::kImage:
        image = co_await ReadConfig(std::move(repository), manifest->config);
        break;
      case Manifest::Kind::kIndex:
        image = co_await ReadIndex(std::move(repository), std::move(*manifest), depth);
        break;
    }
    if (image) image->digest = std::move(digest);
    co_return image;
  }

 private:
  Async<ImagePlatforms> ReadIndex(Repository repository, Manifest index, int depth) {
    ImagePlatforms image;
    image.platforms = index.platforms;
    if (!index.nested.empty() && depth + 1 >= kMaxDepth)
      co_return Error::Invalid("indexes nested too deep");
    if (index.nested.size() > kMaxNested) co_return Error::Invalid("too many nested indexes");
    for (const Descriptor& nested : index.nested) {
      Result<ImagePlatforms> inner = co_await Read(repository, nested.digest, depth + 1);
      if (!inner) co_return inner.error();
      image.platforms.insert(image.platforms.end(), inner->platforms.begin(),
                             inner->platforms.end());
      image.bundle |= inner->bundle;
    }
    SortUnique(image.platforms);
    // Nested indexes included: this bounds the cached size of an image.
    if (image.platforms.size() > kMaxPlatforms)
      co_return Error::Invalid("index with more than 64 platforms");
    // An index of one image may be that of an operator bundle; an index of two never is.
    if (index.only_image && index.nested.empty()) {
      Result<ImagePlatforms> only =
          co_await Read(std::move(repository), index.only_image->digest, depth + 1);
      if (!only) co_return only.error();
      image.bundle = only->bundle;
      if (image.platforms.empty()) image.platforms = std::move(only->platforms);
    }
    co_return image;
  }

  Async<ImagePlatforms> ReadConfig(Repository repository, Descriptor config) {
    Result<Document> blob =
        co_await client_.Blob(std::move(repository), std::move(config.digest), deadline_);
    if (!blob) co_return blob.error();
    Result<ImageConfig> parsed = ParseImageConfig(blob->body);
    if (!parsed) co_return parsed.error();
    ImagePlatforms image;
    image.bundle = parsed->bundle;
    if (!parsed->platform.architecture.empty())
      image.platforms.push_back(std::move(parsed->platform));
    co_return image;
  }

  RegistryClient& client_;
  kube::TimePoint deadline_;
};

}  // namespace

Async<ImagePlatforms> ReadImage(RegistryClient& client, Repository repository, std::string version,
                                kube::TimePoint deadline) {
  Reader reader(client, deadline);
  Result<ImagePlatforms> image = co_await reader.Read(std::move(repository), std::move(version), 0);
  if (image && image->platforms.empty() && !image->bundle)
    co_return Error::Invalid("the image names no platform");
  co_return image;
}

}  // namespace inspection
