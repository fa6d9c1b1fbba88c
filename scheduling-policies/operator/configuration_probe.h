// SPDX-License-Identifier: Apache-2.0
// ConfigurationProbe: asks the API server by a dry run whether it calls the policy webhook as last
// configured. API servers learn of a new webhook configuration with a delay.
//
// The operator creates a Deployment with dryRun=All; nothing is stored. The webhook adds the rest
// of its path as an annotation, and the path of the probe's entry has the hash of the other entries
// (policy_objects.h). With several API servers, this shows it for the one that answered.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/objects/options.h"

namespace operator_ {

// Returns: whether the API server uses the configuration with `hash`. Errors: the API server's, or
// those of other admission webhooks.
kube::Async<bool> IsConfigured(kube::Client& client, std::string hash,
                               const OperandOptions& options);

}  // namespace operator_
