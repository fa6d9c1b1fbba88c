// SPDX-License-Identifier: Apache-2.0
// NodeTaintsFeature: while nodes have architecture taints and the plugin architectureTolerations is
// off, the condition ArchitectureTaintsTolerated of the ClusterPodPlacementConfig is False and
// suggests the plugin. Nothing else depends on nodes.
//
// They are listed, not watched: their heartbeats would be most of what the operator reads. A list
// is read in small pages, of which one is held, up to the first such taint; that one is all that is
// kept.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "operator/feature.h"

namespace operator_ {

inline constexpr std::string_view kArchitectureTaintsTolerated = "ArchitectureTaintsTolerated";

// Nodes of a page.
inline constexpr int kNodesOfAPage = 100;
// Between two lists; and as much more for each node that was read, so that the API server sends at
// most two nodes a second.
inline constexpr std::chrono::minutes kListNodesEvery{10};
inline constexpr std::chrono::milliseconds kForEachNode{500};

std::unique_ptr<Feature> NewNodeTaintsFeature();

}  // namespace operator_
