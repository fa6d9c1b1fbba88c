// SPDX-License-Identifier: Apache-2.0
// RulePolicies: what the operator's ValidatingAdmissionPolicies answer (operator/objects/
// rule_policy.h): which rules of a PodPlacementConfig match a pod, as one API server knows them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kube/testing/fake_admission.h"
#include "kube/types/unstructured.h"
#include "sim/cluster/known_objects.h"

namespace sim {

// The collections that it reads.
std::set<std::string> RulePolicyCollections();

// The warnings of all policies that match. `ns`: the Namespace of the request, or null. A policy
// that is none of rules ends the program: it has to be added here.
std::vector<std::string> AnswersOfRulePolicies(const KnownObjects& known,
                                               const kube::AdmissionAttributes& asked,
                                               const kube::Json& ns);

}  // namespace sim
