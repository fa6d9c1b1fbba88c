// SPDX-License-Identifier: Apache-2.0
// GatingPolicies: what the operator's MutatingAdmissionPolicies do (operator/objects/
// gating_policies.h), as one API server knows them. There is no CEL here: each policy is known by
// its name, and sets what the webhook sets (webhook/gate_patch.h).
//
// The API server evaluates policies before webhooks, and in no certain order.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "kube/testing/fake_admission.h"
#include "kube/types/unstructured.h"
#include "sim/base/random.h"
#include "sim/cluster/known_objects.h"

namespace sim {

// The collections that it reads.
std::set<std::string> GatingPolicyCollections();

// The object with the changes of all policies that match; nullopt if none changes it. `ns`: the
// Namespace of the request, or null. A policy with an unknown name ends the program: it has to be
// added here.
std::optional<kube::Json> ApplyGatingPolicies(const KnownObjects& known, Random& random,
                                              const kube::AdmissionAttributes& asked,
                                              const kube::Json& ns);

}  // namespace sim
