// SPDX-License-Identifier: Apache-2.0
// Use: what an image is read for.
#pragma once

namespace inspection {

enum class Use {
  kContainer,
  // Only to be mounted as a volume. A runtime mounts a single manifest on every node, so it is for
  // every platform; it may be no image, and its config is not read.
  kVolume,
};

}  // namespace inspection
