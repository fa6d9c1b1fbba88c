// SPDX-License-Identifier: Apache-2.0
// KnownImagesCel: what the policy of the cluster gate has in addition, to place pods of known
// images instead (known_table.h). It is the same policy, as the API server has
// no order of policies: no other one may gate the pod first.
//
// An expression that fails leaves the pod without a gate. So none here may fail for any pod: all
// optional fields are asked for, and lists that are walked are short. What is not certain is gated.
//
// A webhook that is called after the policies may add a container to a pod that was placed. So the
// API server evaluates the policy twice. An annotation has the images for which the pod was placed:
// if they are others, the pod gets the gate, and the cluster controller narrows what it requires. A
// copy of a placed pod requires its architecture itself, as that of every pod.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/types/unstructured.h"
#include "operator/objects/known_table.h"

namespace operator_ {

// With more of them, no pod is placed.
inline constexpr size_t kMaxConfiguredNamespaces = 512;

// Appends the variables to those of the policy, which has "gated" and "ignored". In the namespaces
// `configured`, PodPlacementConfigs may change pods: none is placed.
void AddKnownImages(const KnownTable& table, const std::vector<std::string>& configured,
                    kube::Json& variables);
// Further conditions: the policy would change the pod, as it has not done that yet.
kube::Json PlacingConditions();
// CEL: the pod was placed before in the same admission, or is a copy of such a pod.
std::string WasPlaced();
// CEL: the patches of placed pods, or of `gated` (CEL) for other pods.
std::string PlaceOr(const std::string& gated);

// The namespaces `configured` of a stored policy; nullopt if it places no pods.
std::optional<std::set<std::string>> ConfiguredNamespacesOf(const kube::Json& policy);

}  // namespace operator_
