// SPDX-License-Identifier: Apache-2.0
// ShardObjects: the operands in a namespace that has a PodPlacementConfig. The Secret with the
// webhook's certificate comes from certificates/certificates.h, the webhook configuration from
// webhook_configurations.h.
//
// The shard may read and update the pods of its namespace, has no permission outside of it, and
// cannot read a Secret (I6).
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"

namespace operator_ {

// In the order of creation: permissions before the Deployments that need them.
DesiredObjects ShardObjects(const std::string& ns, const api::ClusterPodPlacementConfigSpec& spec,
                            const OperandOptions& options);

}  // namespace operator_
