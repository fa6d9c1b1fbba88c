// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_inspector.h"

#include <algorithm>
#include <iterator>

#include "kube/types/resource.h"
#include "placement/images.h"

namespace cluster_controller {

using inspection::ImageRequest;
using kube::Async;
using kube::Result;
using placement::ArchitectureSet;

Async<std::vector<ImageRequest>> PodInspector::RequestsFor(const kube::core::Pod& pod) {
  std::vector<placement::ContainerImage> images = placement::ImagesOf(pod);
  std::string os = placement::OperatingSystemOf(pod);
  Result<inspection::Keyring> keyring = co_await secrets_.For(pod);
  if (!keyring) co_return keyring.error();
  std::vector<ImageRequest> requests;
  for (placement::ContainerImage& image : images) {
    requests.push_back(
        {.image = std::move(image.reference), .os = os, .always_pull = image.always_pull, .keyring = *keyring});
  }
  co_return requests;
}

Async<std::optional<ArchitectureSet>> PodInspector::Architectures(const kube::core::Pod& pod) {
  kube::ObjectKey key = kube::KeyOf(pod);
  Result<std::vector<ImageRequest>> requests = co_await RequestsFor(pod);
  if (!requests) co_return requests.error();
  kube::TimePoint begun = queue_.AskedSince(key).value_or(clock_.Now());

  // Every image is asked for, whatever the others say: so that all are under way at once.
  std::optional<ArchitectureSet> common;
  std::optional<kube::Error> error;
  bool complete = true;
  for (const ImageRequest& request : *requests) {
    std::optional<Result<ArchitectureSet>> supported = queue_.Ask(key, request);
    if (!supported) {
      complete = false;
    } else if (!*supported) {
      if (!error) error = supported->error();
    } else if (!common) {
      common = std::move(**supported);
    } else {
      ArchitectureSet both;
      std::set_intersection(common->begin(), common->end(), (*supported)->begin(), (*supported)->end(),
                            std::inserter(both, both.end()));
      common = std::move(both);
    }
  }
  if (!complete && !error) co_return std::nullopt;
  metrics_.time_to_inspect_pod_images.Observe(std::chrono::duration<double>(clock_.Now() - begun).count());
  Forget(key);
  if (error) co_return *error;
  // A pod without images runs anywhere.
  if (!common) common = placement::AllArchitectures();
  co_return common;
}

Async<> PodInspector::Prefetch(const kube::core::Pod& pod) {
  Result<std::vector<ImageRequest>> requests = co_await RequestsFor(pod);
  if (!requests) co_return requests.error();
  for (const ImageRequest& request : *requests) queue_.Prefetch(pod.metadata().namespace_(), request);
  co_return kube::Ok();
}

void PodInspector::Forget(const kube::ObjectKey& pod) { queue_.Forget(pod); }

}  // namespace cluster_controller
