// SPDX-License-Identifier: Apache-2.0
// The scheduling fields of a pod as the JSON that policies are merged into, and back.
#pragma once

#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"

namespace policy {

// nodeSelector, nodeName, schedulerName, affinity, tolerations and schedulingGates.
kube::Json ToJson(const kube::core::PodSpec& spec);

// Reads JSON that was checked as a part of a policy: members of other types are left out.
void FromJson(const kube::Json& json, kube::core::NodeSelectorRequirement& requirement);
void FromJson(const kube::Json& json, kube::core::NodeSelectorTerm& term);
void FromJson(const kube::Json& json, kube::core::PreferredSchedulingTerm& term);
void FromJson(const kube::Json& json, kube::core::Toleration& toleration);

}  // namespace policy
