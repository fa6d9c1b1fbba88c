// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_inspector.h"

#include <utility>

namespace cluster_controller {

using inspection::ImageRequest;
using inspection::Inspected;
using inspection::Use;
using kube::Async;
using kube::Result;
using placement::SharedPlatforms;

namespace {

// Higher than any pod needs. Longer names are not valid references (inspection/base/reference.h).
constexpr size_t kMaxImages = 256;
constexpr size_t kMaxName = 1024;
constexpr size_t kShownName = 256;
// The memory of an image in the queue: a fixed part, and several copies of its name.
constexpr size_t kPerImage = 1024;
constexpr size_t kCopiesOfName = 4;

Result<void> CheckImages(const std::vector<placement::ContainerImage>& images) {
  if (images.size() > kMaxImages) {
    return kube::Error::Invalid("the pod has " + std::to_string(images.size()) +
                                " different images, at most " + std::to_string(kMaxImages) +
                                " are inspected");
  }
  for (const placement::ContainerImage& image : images) {
    if (image.reference.size() <= kMaxName) continue;
    return kube::Error::Invalid("inspect " + image.reference.substr(0, kShownName) +
                                "...: the name is longer than " + std::to_string(kMaxName) +
                                " bytes");
  }
  return kube::Ok();
}

size_t BytesOf(const std::vector<ImageRequest>& requests) {
  size_t bytes = 0;
  for (const ImageRequest& request : requests)
    bytes += kPerImage + kCopiesOfName * request.image.size();
  if (!requests.empty() && requests.front().keyring != nullptr)
    bytes += requests.front().keyring->bytes();
  return bytes;
}

}  // namespace

PodInspector::Images PodInspector::Images::Of(const kube::core::Pod& pod) {
  return {.pod = kube::KeyOf(pod),
          .images = placement::ImagesOf(pod),
          .secrets = PullSecrets::NamesIn(pod)};
}

void PodInspector::OnTurn(const std::function<void(const kube::ObjectKey&)>& wake) {
  memory_.OnTurn(wake);
  readers_.OnTurn(wake);
}

Async<std::vector<ImageRequest>> PodInspector::RequestsFor(Images images) {
  Result<void> checked = CheckImages(images.images);
  if (!checked) co_return checked.error();
  Result<inspection::SharedKeyring> keyring =
      co_await secrets_.For(images.pod.ns, std::move(images.secrets));
  if (!keyring) co_return keyring.error();
  std::vector<ImageRequest> requests;
  for (placement::ContainerImage& image : images.images) {
    requests.push_back({.image = std::move(image.reference),
                        .use = image.only_volume ? Use::kVolume : Use::kContainer,
                        .always_pull = image.always_pull,
                        .keyring = *keyring});
  }
  co_return requests;
}

Async<std::optional<PodImages>> PodInspector::Inspect(const kube::core::Pod& pod) {
  Images images = Images::Of(pod);
  kube::ObjectKey key = images.pod;
  bool reads = !images.secrets.empty();
  if (!memory_.Enter(key) || (reads && !readers_.Enter(key))) co_return std::nullopt;
  Result<std::vector<ImageRequest>> requests = co_await RequestsFor(std::move(images));
  readers_.Leave(key);
  if (!requests) {
    Forget(key);
    co_return requests.error();
  }
  memory_.Take(key, BytesOf(*requests));
  kube::TimePoint started = queue_.WaitingSince(key).value_or(clock_.Now());

  // Submits every image, also after an error, so that all are inspected at the same time.
  std::vector<SharedPlatforms> platforms;
  std::string stale;
  std::optional<kube::Error> error;
  bool complete = true;
  for (const ImageRequest& request : *requests) {
    std::optional<Result<Inspected>> known = queue_.Submit(key, request);
    if (!known) {
      complete = false;
    } else if (*known) {
      platforms.push_back(std::move((*known)->platforms));
      if (stale.empty()) stale = std::move((*known)->stale);
    } else if (!error) {
      error = known->error();
    }
  }
  if (!complete && !error) co_return std::nullopt;
  metrics_.time_to_inspect_pod_images.Observe(
      std::chrono::duration<double>(clock_.Now() - started).count());
  Forget(key);
  if (error) co_return *error;
  if (!stale.empty()) metrics_.stale_inspections.Increment();
  co_return PodImages{placement::Common(platforms), std::move(stale)};
}

bool PodInspector::CanPrefetch() const {
  return prefetching_ < options_.prefetch_readers && queue_.queued() < options_.prefetch_queued;
}

Async<> PodInspector::Prefetch(Images images) {
  if (!CanPrefetch()) co_return kube::Ok();
  ++prefetching_;
  std::string ns = images.pod.ns;
  Result<std::vector<ImageRequest>> requests = co_await RequestsFor(std::move(images));
  --prefetching_;
  if (!requests) co_return requests.error();
  for (const ImageRequest& request : *requests) {
    if (queue_.queued() >= options_.prefetch_queued) break;
    queue_.Prefetch(ns, request);
  }
  co_return kube::Ok();
}

void PodInspector::Forget(const kube::ObjectKey& pod) {
  queue_.Forget(pod);
  readers_.Leave(pod);
  memory_.Leave(pod);
}

}  // namespace cluster_controller
