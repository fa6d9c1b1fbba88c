// SPDX-License-Identifier: Apache-2.0
// Asks the API server whether it knows MutatingAdmissionPolicies, and whether it applies them.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/objects/options.h"

namespace operator_ {

enum class GatingPoliciesServed {
  kNo,
  kYes,
  kInUse,  // there is one of the operator
};

// A live answer. Errors: the API server's.
kube::Async<GatingPoliciesServed> LookForGatingPolicies(kube::Client& client);

// Whether the API server applies GatingProbe(nonce, options) (objects/gating_policies.h), by a dry
// run. With several API servers, this shows it for the one that answered. Errors: the API server's,
// or those of other admission webhooks and policies.
kube::Async<bool> AppliesGatingProbe(kube::Client& client, std::string nonce,
                                     const OperandOptions& options);

}  // namespace operator_
