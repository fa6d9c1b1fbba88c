// SPDX-License-Identifier: Apache-2.0
// What the command lines of deploy and undeploy share: which cluster, which namespace, which images.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "kube/base/app.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// The client of --kubeconfig (or $KUBECONFIG). Errors name the file, the context and what is wrong with it.
kube::Result<std::unique_ptr<kube::Client>> ClientFromFlags(kube::App& app);

// The operator's manifests with namespace and images filled in.
kube::Result<std::vector<kube::Unstructured>> ManifestsFromFlags();

// --timeout
std::chrono::seconds TimeoutFromFlags();

}  // namespace operator_
