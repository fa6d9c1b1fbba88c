// SPDX-License-Identifier: Apache-2.0
// The flags of all tools of the fleet: --kubeconfig and --context of the cluster that a tool works
// on, and --timeout.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/client/client.h"

namespace fleet {

// The main function of a tool. Returns: the exit code.
int RunTool(std::string_view name, std::string_view summary, int argc, char** argv,
            std::function<kube::Async<>(kube::App&)> main_function);

kube::Result<std::unique_ptr<kube::Client>> ClientFromFlags(kube::App& app);
std::chrono::seconds TimeoutFromFlags();

}  // namespace fleet
