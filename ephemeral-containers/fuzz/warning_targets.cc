// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/fuzz/warning_targets.h"

#include <glog/logging.h>

#include <string>

#include "ephemeral-containers/warning.h"
#include "ephemeral-containers/webhook/ephemeral_review.h"
#include "kube/types/object_name.h"

namespace ephemeral {
namespace {

// What is read of a review is bounded, names that get into paths are valid, and a warning is one
// line that the API server does not cut.
void FuzzEphemeralReview(const std::string& input) {
  static auto& reader = *new EphemeralReviewReader;
  auto review = reader.Read(input);
  if (!review) return;
  CHECK_LE(review->uid.size(), kMaxUid);
  for (const std::string& name : {review->ns, review->pod, review->node})
    CHECK(name.empty() || kube::IsObjectName(name)) << name;
  for (const std::string& secret : review->pull_secrets)
    CHECK(kube::IsObjectName(secret)) << secret;
  CHECK_LE(review->pull_secrets.size(), 32u);
  CHECK_LE(review->added.size(), kMaxContainers);
  for (const kube::core::Container& container : review->added) {
    CHECK_LE(container.image().size(), kMaxImageName);
    NamedImage image{.container = container.name(), .image = container.image()};
    NodePlatform node{.name = review->node, .os = "linux", .architecture = "arm64"};
    std::string warning = WarningFor(image, node, placement::CommonPlatforms({container.name()}));
    CHECK_LE(warning.size(), kMaxWarningBytes);
    for (char c : warning) CHECK(c >= 0x20 && c <= 0x7e) << warning;
  }
}

}  // namespace

std::vector<fuzz::FuzzTarget> WarningTargets() {
  return {{"ephemeral-review", FuzzEphemeralReview}};
}

}  // namespace ephemeral
