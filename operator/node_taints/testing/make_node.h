// SPDX-License-Identifier: Apache-2.0
// MakeNode: a node with taints, which kube/types/core.proto leaves unknown.
#pragma once

#include <string>
#include <vector>

#include "kube/testing/encoded_field.h"
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
  using kube::EncodedField;
  std::string spec = EncodedField(1, "10.0.0.0/24");  // podCIDR
  for (const MadeTaint& taint : taints) {
    spec += EncodedField(5, EncodedField(1, taint.key) + EncodedField(2, taint.value) +
                                EncodedField(3, taint.effect));
  }
  kube::core::Node node;
  node.mutable_metadata()->set_name(name);
  if (!architecture.empty())
    (*node.mutable_metadata()->mutable_labels())["kubernetes.io/arch"] = architecture;
  std::string status = EncodedField(1, "x");
  node.MergeFromString(EncodedField(2, spec) + EncodedField(3, status));
  return node;
}

}  // namespace operator_
