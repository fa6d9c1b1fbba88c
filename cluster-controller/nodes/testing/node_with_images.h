// SPDX-License-Identifier: Apache-2.0
// NodeWithImages(): a node whose status has images, which kube/types/core.proto leaves unknown.
#pragma once

#include <string>
#include <vector>

#include "kube/testing/encoded_field.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {

// `images`: one entry for each, with all its names. An empty os or architecture has no label.
inline kube::core::Node NodeWithImages(const std::string& name, const std::string& os,
                                       const std::string& architecture,
                                       const std::vector<std::vector<std::string>>& images) {
  kube::core::Node node;
  node.mutable_metadata()->set_name(name);
  auto& labels = *node.mutable_metadata()->mutable_labels();
  if (!os.empty()) labels["kubernetes.io/os"] = os;
  if (!architecture.empty()) labels["kubernetes.io/arch"] = architecture;
  using kube::EncodedField;
  std::string status = EncodedField(1, "not an image");
  for (const std::vector<std::string>& names : images) {
    std::string image;
    for (const std::string& each : names) image += EncodedField(1, each);
    status += EncodedField(8, image);
  }
  node.MergeFromString(EncodedField(3, status));
  return node;
}

}  // namespace cluster_controller
