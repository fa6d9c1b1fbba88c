// SPDX-License-Identifier: Apache-2.0
// JudgedImages: what the images of a pod have in common if some of them do not run on an
// architecture that their index names.
//
//   std::vector<JudgedImage> images = ...;
//   JudgedPlatforms judged = CommonOf(images);
//   // judged.common: where the pod may run; judged.avoided: where it may not, only for a finding
//
// Pure.
#pragma once

#include <span>

#include "placement/architecture.h"
#include "placement/platforms.h"

namespace placement {

struct JudgedImage {
  SharedPlatforms platforms;
  // Of linux: those for which the program in the image is not built.
  ArchitectureSet wrong = {};
  // 2 to 4: the level of x86-64 that the program needs, whatever the index says. 0: not known.
  int amd64_level = 0;
};

struct JudgedPlatforms {
  CommonPlatforms common;
  // Of linux: what all indexes name, and a finding leaves out.
  ArchitectureSet avoided;
  // The findings leave no architecture of linux that nodes have: `common` is what the indexes say.
  bool believes_indexes = false;
};
// `offered`: the architectures of all nodes; empty if they are not known.
JudgedPlatforms CommonOf(std::span<const JudgedImage> images, const ArchitectureSet& offered = {});

}  // namespace placement
