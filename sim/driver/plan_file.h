// SPDX-License-Identifier: Apache-2.0
// Plans as JSON:
//
//   {"seed": 7, "operators": 2, "seconds": 300, "steps": [
//     {"at": 12.5, "do": "CreatePod", "ns": "shop", "name": "pod-1", "images": ["r.io/arm:1"],
//      "traits": []}]}
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "sim/driver/plan.h"

namespace sim {

std::string FormatPlan(const Plan& plan);
// Errors: kInvalid, which names the step and the member: all members are needed, and no others are
// allowed; times ascend.
kube::Result<Plan> ParsePlan(std::string_view text);
// Errors: those of kube::ReadFile() and of ParsePlan(), with the name of the file.
kube::Result<Plan> ReadPlan(const std::string& file);

}  // namespace sim
