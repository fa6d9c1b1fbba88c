// SPDX-License-Identifier: Apache-2.0
// Label selectors as JSON, by the API conventions of Kubernetes.
#pragma once

#include "sim/checker/commit.h"

namespace sim::checker {

// Whether a LabelSelector selects `labels`; null selects everything. A selector with an unknown
// operator selects nothing.
bool Selects(const Json& selector, const Json& labels);

}  // namespace sim::checker
