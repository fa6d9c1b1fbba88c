// SPDX-License-Identifier: Apache-2.0
// MakeKnownTable: what a MutatingAdmissionPolicy needs to place pods of known images itself. The
// API server only looks up; what it finds was decided here, by the code that decides for the
// webhook and the cluster controller.
//
// A table is for simple pods: without a node affinity, selectors on nodes' systems or labels of
// this operator (operator/objects/known_images_cel.h). Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "operator/objects/known_table.h"
#include "placement/platforms.h"

namespace image_facts {

struct KnownImage {
  std::string image;  // inspection::Reference::ToString()
  placement::SharedPlatforms platforms;
};

// The most frequent platforms have letters. A pod may mix up to three of them.
// Empty if `config` adds tolerations: those depend on the pod's own.
operator_::KnownTable MakeKnownTable(std::span<const KnownImage> images,
                                     const api::ClusterPodPlacementConfig& config);

// How authors name the image, the complete name included: "nginx:1" and
// "docker.io/library/nginx:1".
std::vector<std::string> SpellingsOf(const std::string& image);

}  // namespace image_facts
