// SPDX-License-Identifier: Apache-2.0
// MakeNode: a node with taints, which kube/types/core.proto leaves unknown.
#pragma once

#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <vector>

#include "kube/types/core.pb.h"

namespace operator_ {

struct MadeTaint {
  std::string key = "kubernetes.io/arch";
  std::string value;
  std::string effect = "NoSchedule";
};

// `architecture`: the value of the label kubernetes.io/arch; "" for no label.
inline kube::core::Node MakeNode(const std::string& name, const std::string& architecture,
                                 const std::vector<MadeTaint>& taints = {}) {
  google::protobuf::UnknownFieldSet spec;
  spec.AddLengthDelimited(1)->assign("10.0.0.0/24");  // podCIDR
  for (const MadeTaint& made : taints) {
    google::protobuf::UnknownFieldSet taint;
    taint.AddLengthDelimited(1)->assign(made.key);
    taint.AddLengthDelimited(2)->assign(made.value);
    taint.AddLengthDelimited(3)->assign(made.effect);
    taint.SerializeToString(spec.AddLengthDelimited(5));
  }
  kube::core::Node node;
  node.mutable_metadata()->set_name(name);
  if (!architecture.empty())
    (*node.mutable_metadata()->mutable_labels())["kubernetes.io/arch"] = architecture;
  google::protobuf::UnknownFieldSet& unknown = *node.GetReflection()->MutableUnknownFields(&node);
  spec.SerializeToString(unknown.AddLengthDelimited(2));
  unknown.AddLengthDelimited(3)->assign("\x0a\x01x");  // some status
  return node;
}

}  // namespace operator_
