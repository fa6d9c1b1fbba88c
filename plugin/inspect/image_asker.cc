// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/image_asker.h"

#include <utility>

#include "inspection/registry/registry_client.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Result;

constexpr int kMaxDepth = 3;
// Of one image: a hostile index could name a thousand.
constexpr size_t kMaxDocuments = 64;

struct Place {
  inspection::RegistryClient& client;
  const inspection::Repository& repository;
  kube::TimePoint deadline;
  size_t documents = 0;
};

// Adds the images of the manifest or index `digest`.
Async<> ReadVariants(Place& place, std::string platform, std::string digest, int depth,
                     std::vector<ImageVariant>& variants) {
  if (depth > kMaxDepth || ++place.documents > kMaxDocuments) co_return kube::Ok();
  std::string version = digest;
  auto document =
      co_await place.client.Manifest(place.repository, std::move(version), place.deadline);
  if (!document) co_return document.error();
  Result<ManifestSummary> summary = SummarizeManifest(document->body);
  if (!summary) co_return summary.error();
  if (!summary->is_index) {
    variants.push_back(
        {.platform = std::move(platform), .digest = std::move(digest), .bytes = summary->bytes});
    co_return kube::Ok();
  }
  for (ImageVariant& entry : summary->variants) {
    Result<> read = co_await ReadVariants(place, std::move(entry.platform), std::move(entry.digest),
                                          depth + 1, variants);
    if (!read) co_return read.error();
  }
  co_return kube::Ok();
}

}  // namespace

ImageAsker::ImageAsker(kube::Executor executor, kube::Clock& clock,
                       std::function<void(const std::string&)> trace)
    : trace_(std::move(trace)), clock_(clock) {
  inspection::InspectorOptions options;
  options.trace = [this](const std::string& line) { Trace(line); };
  inspector_ = inspection::NewImageInspector(std::move(executor), clock, std::move(options));
}

Result<> ImageAsker::Use(inspection::InspectorConfig config) {
  return inspector_->SetConfig(std::move(config));
}

void ImageAsker::Trace(const std::string& line) {
  constexpr std::string_view kFrom = "from ", kWith = "access with ",
                             kAnonymous = "anonymous access";
  if (line.starts_with(kFrom)) asked_.place = line.substr(kFrom.size());
  if (line.starts_with(kWith)) asked_.access = line.substr(kWith.size());
  if (line == kAnonymous) asked_.access.clear();
  if (trace_) trace_(line);
}

Async<> ImageAsker::ReadMore(inspection::RegistryClient& client,
                             const inspection::Repository& repository, std::string digest) {
  asked_.digest = digest;
  if (tags_) {
    auto tags = co_await client.Tags(repository, clock_.Now() + inspection::kInspectionTimeout);
    // Some registries do not tell.
    if (tags) asked_.tags = std::move(*tags);
    if (kube::FailedWith(tags, kube::Code::kCancelled)) co_return tags.error();
  }
  if (!sizes_) co_return kube::Ok();
  Place place{client, repository, clock_.Now() + inspection::kInspectionTimeout};
  std::string unknown_platform;
  Result<> read = co_await ReadVariants(place, std::move(unknown_platform), std::move(digest), 0,
                                        asked_.variants);
  if (!read || !read_more_) co_return read;
  co_return co_await read_more_(client, repository, clock_, asked_.variants);
}

Async<ImageDetails> ImageAsker::Ask(Question question) {
  asked_ = {.image = question.image};
  sizes_ = question.sizes;
  tags_ = question.tags;
  read_more_ = std::move(question.read_more);
  inspection::ImageRequest request{
      .image = std::move(question.image),
      .use = question.only_volume ? inspection::Use::kVolume : inspection::Use::kContainer,
      .always_pull = true,
      .keyring = std::move(question.keyring),
      .visit = [this](inspection::RegistryClient& client, const inspection::Repository& repository,
                      std::string digest) {
        return ReadMore(client, repository, std::move(digest));
      }};
  Result<inspection::Inspected> inspected = co_await inspector_->Inspect(std::move(request));
  if (kube::FailedWith(inspected, kube::Code::kCancelled)) co_return inspected.error();
  if (inspected) {
    asked_.platforms = std::move(inspected->platforms);
  } else {
    asked_.error = inspected.error().message();
  }
  co_return std::move(asked_);
}

}  // namespace plugin
