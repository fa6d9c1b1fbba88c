// SPDX-License-Identifier: Apache-2.0
// What the cluster knows of the images of a pod. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugin/pod/evidence.h"

namespace plugin {

struct ImageLine {
  std::string image;      // as the pod has it
  std::string platforms;  // "linux/amd64 linux/arm64", "*": it never runs; "" if not known
  std::string source;     // where that was learned, and when; else how to find out
};

// Of each image of the pod once, sorted.
std::vector<ImageLine> DescribeImages(const PodEvidence& evidence);

}  // namespace plugin
