// SPDX-License-Identifier: Apache-2.0
// The kinds that a recording has.
#pragma once

#include <string_view>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

// The kinds that the checker reads. Some of them are only served with their
// CustomResourceDefinitions.
std::vector<kube::Resource> RecordedKinds();

// Whether the audit log says who wrote objects of the kind. Not for events, which are most of the
// writes, nor for MutatingWebhookConfigurations, whose writes are the largest by far.
bool HasLoggedWriters(std::string_view plural);

// The rule of an audit policy (audit.k8s.io/v1) that logs the writes of the other kinds with what
// was sent and what was stored.
kube::Json AuditRuleForRecordings();

}  // namespace e2e
