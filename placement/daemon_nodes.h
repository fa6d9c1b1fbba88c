// SPDX-License-Identifier: Apache-2.0
// On which nodes the pods of a DaemonSet run, and whether its images are for them. As the DaemonSet
// controller decides: by node selector, required node affinity and taints.
#pragma once

#include "kube/types/core.pb.h"
#include "placement/node_match.h"
#include "placement/platforms.h"

namespace placement {

// The part of a pod spec that decides, to be kept instead of all of it: node selector, required
// node affinity, tolerations and hostNetwork.
kube::core::PodSpec NodeConstraintsOf(const kube::core::PodSpec& spec);

// True if the DaemonSet controller creates a pod with this spec on the node.
bool RunsOn(const kube::core::PodSpec& spec, const NodeView& node);

// False if the images cannot run on the node. True for a node whose platform is not known.
bool SupportNode(const CommonPlatforms& images, const NodeView& node);

}  // namespace placement
