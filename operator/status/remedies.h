// SPDX-License-Identifier: Apache-2.0
// Remedies: what to do about a problem that the operator reports. docs/troubleshooting.md lists the
// same reasons. Pure.
#pragma once

#include <string>
#include <string_view>

#include "operator/status/problem.h"

namespace operator_ {

// The same problem with a reason of its own for what the cluster reports under a general one
// ("FailedCreate", "Forbidden"): QuotaExceeded, LimitRange, PodSecurity, AdmissionDenied,
// AdmissionWebhookFailed, RightsMissing. The last names verb and resource in its message.
Problem Classify(Problem problem);

// What to do about a problem with this reason; general advice for unknown reasons.
std::string_view RemedyFor(std::string_view reason);

// True if a shard with this problem may fail because of its version: its image, its program or its
// pod template. False for what the namespace or its nodes cause: quota, admission, no room. The
// owner of a namespace can cause both.
bool MayBeTheVersion(std::string_view reason);

// The problem's message with its remedy.
std::string WithRemedy(const Problem& problem);

}  // namespace operator_
