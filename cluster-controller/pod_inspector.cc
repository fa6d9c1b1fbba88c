// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_inspector.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "placement/images.h"

namespace cluster_controller {

using kube::Async;
using kube::Result;
using placement::ArchitectureSet;

Async<ArchitectureSet> PodInspector::Architectures(kube::core::Pod pod) {
  kube::Stopwatch watch(metrics_.time_to_inspect_pod_images, clock_);
  std::vector<placement::ContainerImage> images = placement::ImagesOf(pod);
  std::string os = placement::OperatingSystemOf(pod);
  Result<inspection::Keyring> keyring = co_await secrets_.For(std::move(pod));
  if (!keyring) co_return keyring.error();

  std::optional<ArchitectureSet> common;
  for (const placement::ContainerImage& image : images) {
    kube::Stopwatch image_watch(metrics_.time_to_inspect_image, clock_);
    inspection::ImageRequest request{
        .image = image.reference, .os = os, .always_pull = image.always_pull, .keyring = *keyring};
    Result<ArchitectureSet> supported = co_await images_.Architectures(std::move(request));
    if (!supported) co_return supported.error();
    if (!common) {
      common = std::move(*supported);
      continue;
    }
    ArchitectureSet both;
    std::set_intersection(common->begin(), common->end(), supported->begin(), supported->end(),
                          std::inserter(both, both.end()));
    common = std::move(both);
  }
  // A pod without images runs anywhere.
  co_return common.value_or(placement::AllArchitectures());
}

}  // namespace cluster_controller
