// SPDX-License-Identifier: Apache-2.0
// ImageDetails: what a registry says about an image, and how it was asked. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"
#include "placement/platforms.h"
#include "plugin/inspect/program_finding.h"
#include "plugin/text/style.h"

namespace plugin {

// One image of an index, or the only one.
struct ImageVariant {
  std::string platform;  // "linux/arm64/v8"; "" in the manifest of an only image
  std::string digest;
  // Compressed, of all layers; 0: not known.
  uint64_t bytes = 0;
  // If it was asked for.
  std::optional<VariantProgram> program = {};
};

struct ImageDetails {
  std::string image;   // as it was asked for
  std::string digest;  // of the manifest or index
  // "mirror.corp/app: mirror of r.io", and which credential was accepted; "" if none was needed.
  std::string place;
  std::string access;
  std::vector<ImageVariant> variants;
  // What nodes are chosen by.
  placement::SharedPlatforms platforms;
  // Of its repository, if they were asked for.
  std::vector<std::string> tags;
  // Not empty: the image could not be read.
  std::string error;
};

// Of an untrusted manifest or index.
struct ManifestSummary {
  bool is_index = false;
  uint64_t bytes = 0;                  // of the layers of an image
  std::vector<ImageVariant> variants;  // of an index, without attestations
};
// Errors: kInvalid for text that is not a JSON object.
kube::Result<ManifestSummary> SummarizeManifest(std::string_view body);

// "31.2 MB"
std::string DescribeBytes(uint64_t bytes);

std::string Say(const ImageDetails& details, Style style = {});
kube::Json AsJson(const ImageDetails& details);

}  // namespace plugin
