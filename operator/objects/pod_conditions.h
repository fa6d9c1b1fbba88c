// SPDX-License-Identifier: Apache-2.0
// PodConditions: which new pods are gated, in the API server's words: CEL and selectors. They are
// those rules of placement/gating.h that need no webhook. Webhook configurations and gating
// policies share them. A pod with a list of more than 32 owners, terms, or expressions of a term
// may be gated without need.
#pragma once

#include <string>
#include <string_view>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

// CEL: a string of the operator's own, without quotes and backslashes.
std::string Quoted(std::string_view text);
// An entry of matchConditions.
kube::Json Condition(const char* name, std::string expression);

// Conditions that every pod has to meet to be gated.
kube::Json PodMatchConditions();
// One more for the cluster gate, as a selector cannot exclude namespaces by a prefix.
kube::Json NotInAReservedNamespace();
// For a rule that is in force. An expression that fails for a pod does not select it, as webhooks
// and policies ignore failures.
kube::Json RuleCondition(const std::string& expression);

// CEL: true if the pod's nodeSelector, or each of its required terms, has the architecture's key.
std::string RequiresArchitecture();
// CEL: true if a preferred term has the architecture's key.
std::string PrefersArchitecture();

// The rule of both: creations of pods.
kube::Json PodRule();

// The namespaces that `config` selects, without the reserved ones.
kube::Json ClusterNamespaceSelector(const api::ClusterPodPlacementConfig& config,
                                    const OperandOptions& options);
// The pods that `config` selects.
kube::Json PodSelector(const api::PodPlacementConfig& config);

}  // namespace operator_
