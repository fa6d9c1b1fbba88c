// SPDX-License-Identifier: Apache-2.0
// SelfTest: whether an installed operator works, for `helm test`. Reads the operator's Deployment
// and its CustomResourceDefinitions, and creates configs with dryRun=All: these reach the
// operator's webhooks, and nothing is stored. The caller must not be the operator, whose own writes
// are not validated.
#pragma once

#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace operator_ {

struct SelfTestOptions {
  // The operator's own namespace.
  std::string ns;
  // "NAME/VERSION": versions that CustomResourceDefinitions must serve.
  std::vector<std::string> crd_versions;
};

// Repeats all checks until they pass, or until `deadline`, and prints a line for each to stdout.
// Errors: kUnavailable if some fail at `deadline`; kCancelled.
kube::Async<> SelfTest(kube::Client& client, kube::Clock& clock, SelfTestOptions options,
                       kube::TimePoint deadline);

}  // namespace operator_
