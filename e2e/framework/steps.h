// SPDX-License-Identifier: Apache-2.0
// The steps that flows are made of; see flow.h. Names are of objects in the scene's namespace.
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
// What is already gone is fine.
Step Delete(const kube::Resource& resource, const std::string& name);
// Every pod of the scene with that label, with the grace that it asks for.
Step DeletePods(const std::string& label_selector);
// Sudden death of every pod of the scene with that label.
Step CrashPods(const std::string& label_selector);

}  // namespace e2e
