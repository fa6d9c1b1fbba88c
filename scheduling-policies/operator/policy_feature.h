// SPDX-License-Identifier: Apache-2.0
// PolicyFeature: scheduling policies as a feature of the operator: validates policies
// (policy_webhooks.h), and deploys the webhook that applies them (policy_reconciler.h).
#pragma once

#include <memory>
#include <string>

#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "operator/feature.h"

namespace operator_ {

// `client` and `clock` outlive the feature.
std::unique_ptr<Feature> NewPolicyFeature(kube::Client& client, kube::Clock& clock,
                                          std::string operator_namespace);

}  // namespace operator_
