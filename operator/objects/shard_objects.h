// SPDX-License-Identifier: Apache-2.0
// ShardObjects: what runs in a namespace that has a PodPlacementConfig. The Secret with the
// webhook's certificate comes from operator/certificates/certificates.h, the webhook configuration
// from webhook_configurations.h.
//
// The shard may see and change the pods of its namespace, and nothing outside it; it cannot read a
// Secret (I6).
#pragma once

#include <string>

#include "operator/objects/desired_object.h"
#include "operator/objects/operand.h"
#include "operator/objects/options.h"

namespace operator_ {

Operand ShardController(const std::string& ns, const std::string& log_verbosity,
                        const OperandOptions& options);
Operand ShardWebhook(const std::string& ns, const std::string& log_verbosity,
                     const OperandOptions& options);

// In the order in which they are made: permissions before those who need them. Removed in the
// opposite one.
DesiredObjects ShardObjects(const std::string& ns, const std::string& log_verbosity,
                            const OperandOptions& options);

}  // namespace operator_
