// SPDX-License-Identifier: Apache-2.0
// Deploy: installs the operator on a cluster, for `bazel run //operator:deploy`. It prints a line
// for each step and can be repeated: existing objects are brought up to date.
#pragma once

#include <chrono>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct DeployOptions {
  // Timeout until all Deployments are rolled out.
  std::chrono::seconds timeout{180};
};

// Deletes Services of another operator that have the names of this operator's, then does
// deploy::Install().
kube::Async<> Deploy(kube::Client& client, kube::Clock& clock,
                     std::vector<kube::Unstructured> objects, DeployOptions options);

}  // namespace operator_
