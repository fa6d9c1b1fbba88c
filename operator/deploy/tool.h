// SPDX-License-Identifier: Apache-2.0
// The common part of the deploy tools: flags, client, and the manifests with the flags' values.
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

struct DeployTool {
  std::string_view name;
  std::string_view summary;
  DeployAction action;
  // Whether the objects of all components of operator/manifests/components/ are included, and not
  // only those that --with names.
  bool all_components = false;
};

// The main function of a deploy tool. Returns: the exit code.
int RunDeployTool(const DeployTool& tool, int argc, char** argv);

}  // namespace operator_
