// SPDX-License-Identifier: Apache-2.0
// I5: what the user has set is never changed. Compares every member of a pod before and after a
// write, those that no program knows too, with what the writer may change: gates of the operator,
// its labels and annotations, additions to the node affinity and tolerations.
#pragma once

#include <string>

#include "sim/checker/pod_fields.h"
#include "sim/checker/violation.h"

namespace sim::checker {

// `policies`: scheduling policies exist, whose criteria the cluster controller may add.
void CheckUserFields(const PodChange& change, bool policies, Violations& violations);

// The same for the creation of a pod, if the commit says what was sent: admission by the webhooks
// keeps each member of it.
void CheckAdmission(const Commit& commit, bool policies, Violations& violations);

// The first differences, as JSON pointers; "" if there are none. What the API server itself sets
// does not count: resourceVersion, generation, managedFields.
std::string DescribeDifference(const Json& before, const Json& after);

// Whether a write only adds the label of an exec format error, to a pod on a node.
bool OnlyReportsExecFormatError(const Json& before, const Json& after);

// Whether a write only removes gates of the operator and sets their labels.
bool OnlyRemovesGates(const Json& before, const Json& after);

}  // namespace sim::checker
