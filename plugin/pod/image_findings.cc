// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/image_findings.h"

#include <chrono>
#include <optional>
#include <utility>

#include "placement/images.h"
#include "plugin/text/age.h"

namespace plugin {

std::vector<ImageFinding> FindImages(const PodEvidence& evidence) {
  std::vector<ImageFinding> findings;
  for (const placement::ContainerImage& image : placement::ImagesOf(evidence.pod)) {
    ImageFinding finding{.image = image.reference, .platforms = nullptr, .source = ""};
    std::optional<KnownImages::Fact> fact =
        evidence.around->known_images.Find(image.reference, evidence.pod);
    if (fact) {
      const auto age = std::chrono::floor<std::chrono::seconds>(evidence.now) - fact->read;
      finding.platforms = fact->platforms;
      finding.source = "the registry said so " + DescribeAge(age) + " ago";
    } else if (image.never_pull) {
      finding.source = "only nodes have it: its pull policy is Never";
    } else {
      finding.source = "ask its registry: kubectl placement inspect " + image.reference;
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace plugin
