// SPDX-License-Identifier: Apache-2.0
// NodeWithImages(): a node whose status has images, which kube/types/core.proto leaves unknown.
#pragma once

#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <vector>

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
  google::protobuf::UnknownFieldSet status;
  status.AddLengthDelimited(1)->assign("not an image");
  for (const std::vector<std::string>& names : images) {
    google::protobuf::UnknownFieldSet image;
    for (const std::string& each : names) image.AddLengthDelimited(1)->assign(each);
    image.AddVarint(2, 1 << 20);  // sizeBytes
    image.SerializeToString(status.AddLengthDelimited(8));
  }
  google::protobuf::UnknownFieldSet& unknown = *node.GetReflection()->MutableUnknownFields(&node);
  status.SerializeToString(unknown.AddLengthDelimited(3));
  return node;
}

}  // namespace cluster_controller
