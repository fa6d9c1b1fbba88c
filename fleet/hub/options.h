// SPDX-License-Identifier: Apache-2.0
// The flags of the program `hub`.
#pragma once

#include <string>

#include "fleet/cel/evaluator.h"
#include "fleet/hub/debug_server.h"
#include "fleet/hub/leader.h"

namespace fleet {

struct HubOptions {
  // The namespace of the hub's own pods, with the Lease.
  std::string ns;
  // Without observers. With `membership` if this hub owns it.
  LeaderOptions leader;
  cel::EvaluatorOptions evaluator;
  DebugServerOptions debug;
};

HubOptions OptionsFromFlags();

}  // namespace fleet
