// SPDX-License-Identifier: Apache-2.0
// ShardObjects: the operands in a namespace that has a PodPlacementConfig. The Secret with the
// webhook's certificate comes from certificates/certificates.h, the webhook configuration from
// webhook_configurations.h.
//
// The shard may read and update the pods of its namespace, has no permission outside of it, and
// cannot read a Secret (I6).
#pragma once

#include <optional>
#include <string>

#include "api/operands.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"

namespace operator_ {

// `settings`: of both Deployments.
// In the order of creation: permissions before the Deployments that need them.
DesiredObjects ShardObjects(const std::string& ns, const std::string& log_verbosity,
                            const OperandOptions& options,
                            const std::optional<api::OperandSettings>& settings = {});

}  // namespace operator_
