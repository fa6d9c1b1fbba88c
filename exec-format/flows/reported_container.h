// SPDX-License-Identifier: Apache-2.0
// What kubelets and monitors write into a status, on clusters whose kubelet starts no containers of
// users.
#pragma once

#include <string>

#include "e2e/framework/flow.h"

namespace e2e {

// A merge patch of the status. Errors: the API server's.
kube::Result<> PatchStatus(Scene& scene, const kube::Resource& resource, kube::ObjectKey key,
                           const Json& status);

Condition Runs(const std::string& pod);
// The status of the pod has the container "app" with this ID.
Step ReportContainer(const std::string& pod, const std::string& container_id);

}  // namespace e2e
