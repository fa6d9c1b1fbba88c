// SPDX-License-Identifier: Apache-2.0
// The cause: why a pod is where it is, and what its owner can do. Pure.
//
// There is one cause at a time, in the order of a pod's life: what keeps its gate, what keeps it
// from being scheduled, why it was not placed by architecture.
#pragma once

#include <string>

#include "plugin/pod/evidence.h"

namespace plugin {

struct Cause {
  // A name for programs: "RegistryRefusesCredentials". "" if nothing is wrong.
  std::string name;
  std::string why;   // a sentence
  std::string next;  // what to do; "" if nothing needs to be done
};

Cause FindCause(const PodEvidence& evidence);

}  // namespace plugin
