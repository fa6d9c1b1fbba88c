// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/names.h"
#include "kube/types/meta.pb.h"

namespace exec_format {

// By the label that the kubelet of the node sets; "" if it has none.
inline std::string ArchitectureOf(const kube::meta::PartialObject& node) {
  const auto& labels = node.metadata().labels();
  auto label = labels.find(std::string(api::kArchLabel));
  return label == labels.end() ? "" : label->second;
}

}  // namespace exec_format
