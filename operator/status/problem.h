// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace operator_ {

// Why an operand does not run, as the cluster reports it: "QuotaExceeded", "ImagePullBackOff",
// "CrashLoopBackOff", "Unschedulable", ...
struct Problem {
  std::string reason;
  std::string message;

  bool operator==(const Problem&) const = default;
};

}  // namespace operator_
