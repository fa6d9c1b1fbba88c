// SPDX-License-Identifier: Apache-2.0
// Deploy: what `bazel run //operator:deploy` does on a cluster. It prints a line a step on standard
// output and can be repeated: what is there already is brought up to date.
#pragma once

#include <chrono>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct DeployOptions {
  // For all Deployments to be rolled out.
  std::chrono::seconds timeout{180};
};

// Server-side applies `objects` in order and waits until the CRDs are established and every
// Deployment is rolled out. Errors: the API's; kDeadlineExceeded says what was not ready, with the
// reason that the cluster gives.
kube::Async<> Deploy(kube::Client& client, kube::Clock& clock,
                     std::vector<kube::Unstructured> objects, DeployOptions options);

}  // namespace operator_
