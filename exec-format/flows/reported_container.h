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
// Of the first container of a pod (PodBuilder::Image()), in all of these.
std::string ContainerId();
// The status of the pod has the container with this ID.
Step ReportContainer(const std::string& pod, const std::string& container_id);

enum class By { kName, kUid };
// A monitor on `node` reports that this file failed in the container: creates the ENoExecEvent
// `name`, and then writes its status.
Step ReportFailure(const std::string& name, const std::string& pod, const std::string& node, By by,
                   const std::string& command);

}  // namespace e2e
