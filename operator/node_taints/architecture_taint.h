// SPDX-License-Identifier: Apache-2.0
// ArchitectureTaint: a taint by which a node repels pods because of its architecture, as pools of a
// second architecture often have: kubernetes.io/arch=arm64:NoSchedule. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace operator_ {

struct ArchitectureTaint {
  std::string node;
  std::string architecture;
  std::string effect;

  bool operator==(const ArchitectureTaint&) const = default;
  // "kubernetes.io/arch=arm64:NoSchedule".
  std::string ToString() const;
};

// The first taint of `node` (core/v1, protobuf) with the key kubernetes.io/arch, the node's own
// architecture and the effect NoSchedule or NoExecute: one that the plugin architectureTolerations
// can make pods tolerate, unless it is for other effects. Reads only metadata and taints: the
// status of a node is large. Errors: kInvalid.
kube::Result<std::optional<ArchitectureTaint>> FindArchitectureTaint(std::string_view node);

}  // namespace operator_
