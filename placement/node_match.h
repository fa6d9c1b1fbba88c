// SPDX-License-Identifier: Apache-2.0
// NodeMatch: what the scheduler asks of a node for a pod: its labels and its taints. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"

namespace placement {

// What decides of a node.
struct NodeView {
  std::string name;
  std::map<std::string, std::string> labels = {};
  std::vector<kube::workloads::Taint> taints = {};

  // "" without the label.
  std::string Label(std::string_view key) const;
};

// Of an encoded core/v1 Node. Reads only metadata and taints: the status of a node is large.
// Errors: kInvalid.
kube::Result<NodeView> ParseNode(std::string_view node);

// "linux/arm64", of the node's labels; "" if the architecture is not known.
std::string PlatformOf(const NodeView& node);

// Whether the node has all labels of the node selector.
bool HasSelectedLabels(const kube::core::PodSpec& spec, const NodeView& node);
// Whether the node satisfies the required node affinity: one of its terms.
bool SatisfiesAffinity(const kube::core::PodSpec& spec, const NodeView& node);

// Whether the taint keeps away the pods that do not tolerate it: NoSchedule and NoExecute.
bool IsRepelling(const kube::workloads::Taint& taint);
bool Tolerates(const kube::core::PodSpec& spec, const kube::workloads::Taint& taint);

}  // namespace placement
