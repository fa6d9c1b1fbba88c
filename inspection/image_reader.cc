// SPDX-License-Identifier: Apache-2.0
#include "inspection/image_reader.h"

#include <algorithm>
#include <vector>

#include "inspection/base/manifest.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;
using placement::ImagePlatforms;

constexpr int kMaxDepth = 3;
// Of one image: a hostile index could name a thousand.
constexpr int kMaxDocuments = 48;
constexpr size_t kMaxPlatforms = 64;

void SortUnique(std::vector<Platform>& platforms) {
  std::sort(platforms.begin(), platforms.end());
  platforms.erase(std::unique(platforms.begin(), platforms.end()), platforms.end());
}

class Reader {
 public:
  Reader(RegistryClient& client, Repository repository, kube::TimePoint deadline)
      : client_(client), repository_(std::move(repository)), deadline_(deadline) {}

  Async<InspectedImage> Read(std::string version, Use use) {
    Result<Fetched> fetched = co_await Fetch(std::move(version));
    if (!fetched) co_return fetched.error();
    InspectedImage image{.platforms = {}, .digest = std::move(fetched->digest)};
    Result<Manifest>& manifest = fetched->manifest;
    if (!manifest) co_return manifest.error();
    bool single = manifest->kind == Manifest::Kind::kImage;
    if (use == Use::kVolume && single) {
      image.platforms.every = true;
      co_return image;
    }
    Result<ImagePlatforms> platforms = co_await Platforms(std::move(*manifest), 0);
    if (!platforms) co_return platforms.error();
    image.platforms = std::move(*platforms);
    co_return image;
  }

 private:
  struct Fetched {
    std::string digest;
    Result<Manifest> manifest;  // kInvalid if the document is none
  };

  // Errors: those of reading the document, whatever it is.
  Async<Fetched> Fetch(std::string version) {
    if (++documents_ > kMaxDocuments)
      co_return Error::Invalid("the image has more than 48 manifests to be read");
    Result<Document> document =
        co_await client_.Manifest(repository_, std::move(version), deadline_);
    if (!document) co_return document.error();
    co_return Fetched{std::move(document->digest), ParseManifest(document->body)};
  }

  Async<ImagePlatforms> ReadManifest(std::string digest, int depth) {
    Result<Fetched> fetched = co_await Fetch(std::move(digest));
    if (!fetched) co_return fetched.error();
    if (!fetched->manifest) co_return fetched->manifest.error();
    Result<ImagePlatforms> platforms = co_await Platforms(std::move(*fetched->manifest), depth);
    co_return platforms;
  }

  Async<ImagePlatforms> Platforms(Manifest manifest, int depth) {
    Result<ImagePlatforms> platforms = ImagePlatforms();
    switch (manifest.kind) {
      case Manifest::Kind::kImage:
        platforms = co_await ReadConfig(manifest.config);
        break;
      case Manifest::Kind::kIndex:
        platforms = co_await ReadIndex(std::move(manifest), depth);
        break;
    }
    co_return platforms;
  }

  Async<ImagePlatforms> ReadIndex(Manifest index, int depth) {
    ImagePlatforms image;
    image.platforms = std::move(index.platforms);
    // An image that runs decides; one that never runs only if no other is there.
    bool runs = !image.platforms.empty();
    bool never_runs = false;
    auto merge = [&](ImagePlatforms inner) {
      image.platforms.insert(image.platforms.end(), inner.platforms.begin(), inner.platforms.end());
      never_runs |= inner.every;
      runs |= !inner.every && !inner.platforms.empty();
    };
    if (!index.nested.empty() && depth + 1 >= kMaxDepth)
      co_return Error::Invalid("indexes nested too deep");
    for (const Descriptor& nested : index.nested) {
      Result<ImagePlatforms> inner = co_await ReadManifest(nested.digest, depth + 1);
      if (!inner) co_return inner.error();
      merge(std::move(*inner));
    }
    for (const Descriptor& entry : index.without_platform) {
      Result<ImagePlatforms> inner = co_await ReadEntry(entry.digest);
      if (!inner) co_return inner.error();
      merge(std::move(*inner));
    }
    image.every = never_runs && !runs;
    SortUnique(image.platforms);
    // All entries included: this bounds the cached size of an image.
    if (image.platforms.size() > kMaxPlatforms)
      co_return Error::Invalid("index with more than 64 platforms");
    // An index of one image may be that of an operator bundle; an index of two never is.
    if (index.only_image) {
      Result<ImagePlatforms> only = co_await ReadManifest(index.only_image->digest, depth + 1);
      if (!only) co_return only.error();
      image.every = only->every;
    }
    co_return image;
  }

  // An entry without a platform. Nothing if it is no image: a signature, an SBOM, a chart. Only a
  // document that was read says so; while one cannot be read, its platform is not known.
  Async<ImagePlatforms> ReadEntry(std::string digest) {
    Result<Fetched> fetched = co_await Fetch(std::move(digest));
    if (!fetched) co_return fetched.error();
    Result<Manifest>& manifest = fetched->manifest;
    if (!manifest || manifest->kind != Manifest::Kind::kImage || manifest->artifact)
      co_return ImagePlatforms();
    Result<Document> blob =
        co_await client_.Blob(repository_, std::move(manifest->config.digest), deadline_);
    if (!blob) co_return blob.error();
    Result<ImageConfig> config = ParseImageConfig(blob->body);
    co_return config ? FromConfig(std::move(*config)) : ImagePlatforms();
  }

  Async<ImagePlatforms> ReadConfig(Descriptor config) {
    Result<Document> blob = co_await client_.Blob(repository_, std::move(config.digest), deadline_);
    if (!blob) co_return blob.error();
    Result<ImageConfig> parsed = ParseImageConfig(blob->body);
    if (!parsed) co_return parsed.error();
    co_return FromConfig(std::move(*parsed));
  }

  static ImagePlatforms FromConfig(ImageConfig config) {
    ImagePlatforms image;
    image.every = config.bundle;
    if (!config.platform.architecture.empty())
      image.platforms.push_back(std::move(config.platform));
    return image;
  }

  RegistryClient& client_;
  Repository repository_;
  kube::TimePoint deadline_;
  int documents_ = 0;
};

}  // namespace

Async<InspectedImage> ReadImage(RegistryClient& client, Repository repository, std::string version,
                                Use use, kube::TimePoint deadline) {
  Reader reader(client, std::move(repository), deadline);
  Result<InspectedImage> image = co_await reader.Read(std::move(version), use);
  if (image && image->platforms.platforms.empty() && !image->platforms.every)
    co_return Error::Invalid("the image names no platform");
  co_return image;
}

}  // namespace inspection
