// SPDX-License-Identifier: Apache-2.0
#include "placement/images.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kube/types/object_name.h"

namespace placement {
namespace {

// Higher than any pod needs.
constexpr size_t kMaxPullSecrets = 32;

}  // namespace

std::vector<ContainerImage> ImagesOf(const kube::core::Pod& pod) {
  std::map<std::string, ContainerImage> images;
  auto add = [&](const std::string& reference, const std::string& policy, bool volume) {
    if (reference.empty()) return;
    ContainerImage own{reference, policy == "Always", policy == "Never", volume};
    auto [at, is_new] = images.try_emplace(reference, own);
    if (is_new) return;
    at->second.always_pull |= own.always_pull;
    at->second.never_pull &= own.never_pull;
    at->second.only_volume &= own.only_volume;
  };
  for (const kube::core::Container& container : pod.spec().init_containers())
    add(container.image(), container.image_pull_policy(), /*volume=*/false);
  for (const kube::core::Container& container : pod.spec().containers())
    add(container.image(), container.image_pull_policy(), /*volume=*/false);
  for (const kube::core::Volume& volume : pod.spec().volumes()) {
    const kube::core::ImageVolumeSource& image = volume.source().image();
    add(image.reference(), image.pull_policy(), /*volume=*/true);
  }
  std::vector<ContainerImage> sorted;
  sorted.reserve(images.size());
  for (auto& [reference, image] : images) sorted.push_back(std::move(image));
  return sorted;
}

std::vector<std::string> PullSecretsOf(const kube::core::Pod& pod) {
  std::vector<std::string> names;
  for (const kube::core::LocalObjectReference& secret : pod.spec().image_pull_secrets()) {
    if (names.size() == kMaxPullSecrets) break;
    if (!kube::IsObjectName(secret.name())) continue;
    if (std::find(names.begin(), names.end(), secret.name()) == names.end())
      names.push_back(secret.name());
  }
  return names;
}

}  // namespace placement
