// SPDX-License-Identifier: Apache-2.0
// WhyWorkload: the answer to `kubectl placement why deployment`, and for the other kinds that have
// pods: their pods together, by what keeps them from running. Pure.
#pragma once

#include <string>

#include "kube/types/unstructured.h"
#include "plugin/text/style.h"
#include "plugin/workload/evidence.h"

namespace plugin {

// For people, with a line end.
std::string WhyWorkload(const WorkloadEvidence& evidence, Style style = {});
// The same for programs.
kube::Json WhyWorkloadAsJson(const WorkloadEvidence& evidence);

}  // namespace plugin
