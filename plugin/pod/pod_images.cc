// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/pod_images.h"

#include <chrono>
#include <optional>
#include <utility>

#include "placement/images.h"
#include "plugin/text/age.h"

namespace plugin {

std::vector<PodImage> FindImages(const PodEvidence& evidence) {
  std::vector<PodImage> images;
  for (const placement::ContainerImage& image : placement::ImagesOf(evidence.pod)) {
    PodImage found{.image = image.reference, .platforms = nullptr, .source = ""};
    std::optional<KnownImages::Fact> fact =
        evidence.around->known_images.Find(image.reference, evidence.pod);
    if (fact) {
      const auto age = std::chrono::floor<std::chrono::seconds>(evidence.now) - fact->read;
      found.platforms = fact->platforms;
      found.source = "the registry said so " + DescribeAge(age) + " ago";
    } else if (image.never_pull) {
      found.source = "only nodes have it: its pull policy is Never";
    } else {
      found.source = "ask its registry: kubectl placement inspect " + image.reference;
    }
    evidence.around->known_images.Judge(found, evidence.pod.metadata().namespace_());
    images.push_back(std::move(found));
  }
  return images;
}

}  // namespace plugin
