// SPDX-License-Identifier: Apache-2.0
// On which nodes the pods of a DaemonSet run, and whether its images are for them. As the DaemonSet
// controller decides: by node selector, required node affinity and taints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"
#include "placement/platforms.h"

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

// The part of a pod spec that decides, to be kept instead of all of it: node selector, required
// node affinity, tolerations and hostNetwork.
kube::core::PodSpec NodeConstraintsOf(const kube::core::PodSpec& spec);

// True if the DaemonSet controller creates a pod with this spec on the node.
bool RunsOn(const kube::core::PodSpec& spec, const NodeView& node);

// "linux/arm64", of the node's labels; "" if the architecture is not known.
std::string PlatformOf(const NodeView& node);

// False if the images cannot run on the node. True for a node whose platform is not known.
bool SupportNode(const CommonPlatforms& images, const NodeView& node);

}  // namespace placement
