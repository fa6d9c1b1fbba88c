// SPDX-License-Identifier: Apache-2.0
// A report for people, for spreadsheets and for programs. Pure.
#pragma once

#include <string>

#include "kube/types/unstructured.h"
#include "plugin/report/report.h"
#include "plugin/text/style.h"

namespace plugin {

// `wide`: with who is responsible, and all images that are the reason.
std::string Say(const Report& report, bool wide, Style style = {});
// The workloads and DaemonSets, a row each.
std::string AsCsv(const Report& report);
kube::Json AsJson(const Report& report);
// The text of AsJson(), with the memory of one line besides.
std::string AsJsonText(const Report& report);

// "arm64 2, amd64 1": the pods of a workload by architecture.
std::string DescribeRunsOn(const WorkloadLine& line);
// Why it is held back: "r.io/app:1 is for linux/amd64; r.io/app:2 has arm64".
std::string DescribeReason(const WorkloadLine& line, const std::string& architecture,
                           size_t images_shown);

}  // namespace plugin
