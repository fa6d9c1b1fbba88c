// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inspection/cloud/cloud_identity.h"
#include "inspection/cloud/cloud_registry.h"

namespace inspection {

struct CloudOptions {
  // Empty: no credential of this process is used.
  CloudRegistries registries;
  CloudIdentity identity;
};

}  // namespace inspection
