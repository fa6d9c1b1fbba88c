// SPDX-License-Identifier: Apache-2.0
// Images with layers, in a FakeRegistry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inspection/testing/fake_registry.h"

namespace exec_format {

inline constexpr std::string_view kGzipLayer = "application/vnd.oci.image.layer.v1.tar+gzip";

struct MadeImage {
  std::string architecture = "amd64";
  // The member "config" of the image's config.
  std::string config = R"({"Entrypoint":["/app"]})";
  std::vector<std::string> layers;  // packed, from the bottom up
  std::string layer_type = std::string(kGzipLayer);
};

// Each returns the digest.
std::string PutImage(inspection::FakeRegistry& registry, const std::string& repository,
                     const MadeImage& image, const std::string& tag = "");
std::string PutIndexOf(inspection::FakeRegistry& registry, const std::string& repository,
                       const std::vector<MadeImage>& images, const std::string& tag = "");

}  // namespace exec_format
