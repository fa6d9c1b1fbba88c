// SPDX-License-Identifier: Apache-2.0
// PolicyObjects: the webhook of scheduling policies in the operator's namespace, and which requests
// the API server sends to it. Its permissions are part of the operator's manifests, so the operator
// need not hold them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/operands.h"
#include "api/scheduling_policies.h"
#include "kube/types/unstructured.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "scheduling-policies/operator/policy_coverage.h"

namespace operator_ {

// In the order of creation. The Secret with the certificate comes from
// operator/certificates/certificates.h.
DesiredObjects PolicyObjects(const api::SchedulingPolicies& plugin, const OperandOptions& options,
                             const std::optional<api::OperandSettings>& settings = {});

// True while the webhook configuration or an object of PolicyObjects() is in the store. The last
// one is the ServiceAccount.
bool PolicyObjectsLeft(const OperandStore& store, const OperandOptions& options);

struct PolicyConfiguration {
  kube::Json object;
  // The hash of its entries, without the entry of the probe (configuration_probe.h), whose path has
  // the hash.
  std::string hash;
};

// The MutatingWebhookConfiguration with an entry for the namespaces with policies, one for those
// that cluster policies select, and one for the probe. No request matches two of them. Conditions
// (CEL) repeat the rules of scheduling-policies/target.h that the API server can evaluate itself,
// so it makes no call for what is never changed. The webhook applies the same rules to the requests
// that it gets.
PolicyConfiguration PolicyWebhookConfiguration(const PolicyCoverage& coverage,
                                               const api::SchedulingPolicies& plugin,
                                               const std::string& ca_bundle_pem,
                                               const OperandOptions& options);

}  // namespace operator_
