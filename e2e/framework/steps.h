// SPDX-License-Identifier: Apache-2.0
// The steps of flows; see flow.h. Objects are in the scene's namespace.
#pragma once

#include <string>

#include "e2e/framework/flow.h"
#include "e2e/framework/objects.h"
#include "kube/types/resource.h"

namespace e2e {

Step Create(const PodBuilder& pod);
Step Create(const DeploymentBuilder& deployment);
Step Create(const ConfigBuilder& config);
Step Create(const ClusterConfigBuilder& config);
Step Create(const kube::Resource& resource, Json object);
// A merge patch.
Step Change(const kube::Resource& resource, const std::string& name, Json patch);
// Succeeds if the object does not exist.
Step Delete(const kube::Resource& resource, const std::string& name);
// Every pod of the scene with that label, with its own grace period.
Step DeletePods(const std::string& label_selector);
// Kills every pod of the scene with that label, without SIGTERM.
Step CrashPods(const std::string& label_selector);

}  // namespace e2e
