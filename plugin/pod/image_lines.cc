// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/image_lines.h"

#include <chrono>
#include <optional>
#include <utility>

#include "image-facts/image_fact.h"
#include "placement/images.h"
#include "plugin/text/age.h"

namespace plugin {

std::vector<ImageLine> DescribeImages(const PodEvidence& evidence) {
  std::vector<ImageLine> lines;
  for (const placement::ContainerImage& image : placement::ImagesOf(evidence.pod)) {
    ImageLine line{.image = image.reference};
    std::optional<KnownImages::Fact> fact =
        evidence.around->known_images.Find(image.reference, evidence.pod);
    if (fact) {
      line.platforms = image_facts::PlatformsToText(*fact->platforms);
      line.source =
          "the registry said so " +
          DescribeAge(std::chrono::floor<std::chrono::seconds>(evidence.now) - fact->read) + " ago";
    } else if (image.never_pull) {
      line.source = "only nodes have it: its pull policy is Never";
    } else {
      line.source = "ask its registry: kubectl placement inspect " + image.reference;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace plugin
