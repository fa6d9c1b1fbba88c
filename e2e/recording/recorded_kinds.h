// SPDX-License-Identifier: Apache-2.0
// The kinds that a recording has.
#pragma once

#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

// The kinds that the checker reads. Some of them are only served with their
// CustomResourceDefinitions.
std::vector<kube::Resource> RecordedKinds();

// The rule of an audit policy (audit.k8s.io/v1) that logs the writes of these kinds with what was
// sent and what was stored. Not of events: most of the writes, and no rule reads who wrote one.
kube::Json AuditRuleForRecordings();

}  // namespace e2e
