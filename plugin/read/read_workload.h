// SPDX-License-Identifier: Apache-2.0
// Reads what a cluster says about a workload and its pods, with the user's rights. Thread: the
// client's.
#pragma once

#include <optional>
#include <string>

#include "api/names.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "plugin/workload/evidence.h"

namespace plugin {

// The kind that a user names: "deployment", "deployments", "deploy". nullopt for another one.
std::optional<kube::Resource> FindWorkloadKind(const std::string& word);

// Errors: those of reading the workload, and its pods.
kube::Async<WorkloadEvidence> ReadWorkload(
    kube::Client& client, kube::Clock& clock, kube::Resource resource, kube::ObjectKey key,
    std::string operator_namespace = std::string(api::kDefaultOperatorNamespace));

}  // namespace plugin
