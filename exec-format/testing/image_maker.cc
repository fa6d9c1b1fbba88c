// SPDX-License-Identifier: Apache-2.0
#include "exec-format/testing/image_maker.h"

#include "inspection/base/manifest.h"

namespace exec_format {

using inspection::FakeRegistry;
using inspection::kOciIndex;
using inspection::kOciManifest;

std::string PutImage(FakeRegistry& registry, const std::string& repository, const MadeImage& image,
                     const std::string& tag) {
  const std::string config =
      registry.PutBlob(R"({"os":"linux","architecture":")" + image.architecture + R"(","config":)" +
                       image.config + "}");
  std::string layers;
  for (const std::string& layer : image.layers) {
    layers += (layers.empty() ? "" : ",") + (R"({"mediaType":")" + image.layer_type) +
              R"(","digest":")" + registry.PutBlob(layer) + R"(","size":)" +
              std::to_string(layer.size()) + "}";
  }
  return registry.PutManifest(repository, tag,
                              R"({"schemaVersion":2,"mediaType":")" + std::string(kOciManifest) +
                                  R"(","config":{"size":1,"digest":")" + config +
                                  R"("},"layers":[)" + layers + "]}",
                              kOciManifest);
}

std::string PutIndexOf(FakeRegistry& registry, const std::string& repository,
                       const std::vector<MadeImage>& images, const std::string& tag) {
  std::string entries;
  for (const MadeImage& image : images) {
    entries += (entries.empty() ? "" : ",") + (R"({"mediaType":")" + std::string(kOciManifest)) +
               R"(","size":1,"digest":")" + PutImage(registry, repository, image) +
               R"(","platform":{"os":"linux","architecture":")" + image.architecture + R"("}})";
  }
  return registry.PutManifest(repository, tag,
                              R"({"schemaVersion":2,"mediaType":")" + std::string(kOciIndex) +
                                  R"(","manifests":[)" + entries + "]}",
                              kOciIndex);
}

}  // namespace exec_format
