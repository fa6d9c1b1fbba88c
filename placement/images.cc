// SPDX-License-Identifier: Apache-2.0
#include "placement/images.h"

#include <map>

#include "api/names.h"

namespace placement {

std::vector<ContainerImage> ImagesOf(const kube::core::Pod& pod) {
  std::map<std::string, bool> always_pull;
  auto add = [&](const kube::core::Container& container) {
    if (!container.image().empty())
      always_pull[container.image()] |= container.image_pull_policy() == "Always";
  };
  for (const kube::core::Container& container : pod.spec().init_containers()) add(container);
  for (const kube::core::Container& container : pod.spec().containers()) add(container);
  std::vector<ContainerImage> images;
  images.reserve(always_pull.size());
  for (auto& [reference, always] : always_pull) images.push_back({reference, always});
  return images;
}

std::string OperatingSystemOf(const kube::core::Pod& pod) {
  if (!pod.spec().os().name().empty()) return pod.spec().os().name();
  auto selected = pod.spec().node_selector().find(std::string(api::kOsLabel));
  if (selected != pod.spec().node_selector().end() && !selected->second.empty())
    return selected->second;
  return "linux";
}

}  // namespace placement
