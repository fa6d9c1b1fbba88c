// SPDX-License-Identifier: Apache-2.0
// Why the pods of a workload are not created. Pure.
#pragma once

#include <optional>

#include "plugin/pod/cause.h"
#include "plugin/workload/evidence.h"

namespace plugin {

// By the last event FailedCreate. nullopt: all pods are there, or no event says why not.
std::optional<Cause> FindCreationCause(const WorkloadEvidence& evidence);

}  // namespace plugin
