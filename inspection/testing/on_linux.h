// SPDX-License-Identifier: Apache-2.0
// OnLinux(): the architectures of an inspected image that nodes with linux can run.
#pragma once

#include "inspection/inspector.h"
#include "kube/base/error.h"
#include "placement/platforms.h"

namespace inspection {

inline kube::Result<placement::ArchitectureSet> OnLinux(const kube::Result<Inspected>& image) {
  if (!image) return image.error();
  return placement::Common({&image->platforms, 1}).On("linux");
}

}  // namespace inspection
