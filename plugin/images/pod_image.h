// SPDX-License-Identifier: Apache-2.0
// PodImage: what is known of an image of a pod.
#pragma once

#include <string>

#include "placement/architecture.h"
#include "placement/platforms.h"

namespace plugin {

struct PodImage {
  std::string image;                     // as the pod has it
  placement::SharedPlatforms platforms;  // nullptr: not known
  std::string source;                    // where that was learned; else why it was not
  // A newer image of the same repository that has what this one lacks; "" if nobody has looked.
  std::string newer = {};
  // Architectures of its index on which it does not run, as the cluster has found, and how.
  placement::ArchitectureSet wrong = {};
  std::string finding = {};
};

}  // namespace plugin
