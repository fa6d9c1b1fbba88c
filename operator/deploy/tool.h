// SPDX-License-Identifier: Apache-2.0
// What the deploy tools share: their flags, the cluster that those name, and the manifests filled
// in.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// `objects` are those of the manifests, in the order in which they are applied.
using DeployAction = std::function<kube::Async<>(kube::Client& client, kube::Clock& clock,
                                                 std::vector<kube::Unstructured> objects,
                                                 std::chrono::seconds timeout)>;

// The main function of such a tool; what it returns is the exit code.
int RunDeployTool(std::string_view name, std::string_view summary, int argc, char** argv,
                  DeployAction action);

}  // namespace operator_
