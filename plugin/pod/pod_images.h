// SPDX-License-Identifier: Apache-2.0
// What the cluster knows of the images of a pod. Pure.
#pragma once

#include <vector>

#include "plugin/images/pod_image.h"
#include "plugin/pod/evidence.h"

namespace plugin {

// Of each image of the pod once, sorted. The source says how to find out what is not known.
std::vector<PodImage> FindImages(const PodEvidence& evidence);

}  // namespace plugin
