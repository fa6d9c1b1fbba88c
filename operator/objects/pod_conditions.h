// SPDX-License-Identifier: Apache-2.0
// PodConditions: what the API server decides about a request itself, in CEL and selectors. Each
// condition of webhook configurations and gating policies, also those of features, is made of these
// functions: they alone walk lists, whose length a tenant chooses. Nothing is found in a list of
// more than 32 owners, terms, or expressions of a term: the webhook is called, and such a pod may
// be gated, without need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/excluded_namespaces.h"
#include "api/pod_placement_config.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

// CEL: a string of the operator's own, without quotes and backslashes.
std::string Quoted(std::string_view text);
// An entry of matchConditions.
kube::Json Condition(const char* name, std::string expression);

// CEL: the map `map` of the object is present and has `key`.
std::string HasKey(const std::string& map, std::string_view key);
// CEL: the map `map` of the object is present and has `key` with `value` (CEL).
std::string HasValue(const std::string& map, std::string_view key, const std::string& value);
// CEL: `list`, or the map of that name, is short enough to be walked.
std::string IsShort(const std::string& list);
// CEL, to be put in parentheses: the pod has a node affinity.
std::string HasNodeAffinity();
// CEL: the controller of DaemonSets creates a pod. An owner alone does not show it, as everyone who
// may create pods can write one.
std::string IsByDaemonSetController();
// CEL: the request is made by a node.
std::string IsByNode();
// CEL: the object has a controller.
std::string HasAController();
// CEL: the request is made by this ServiceAccount.
std::string IsBy(const std::string& ns, std::string_view service_account);

// Conditions that every pod has to meet to be gated. `excluded_schedulers`: those of the
// ClusterPodPlacementConfig. Policies of features do not use them: what a pod opts out of with its
// label or its scheduler is placement by architecture alone.
kube::Json PodMatchConditions(const std::vector<std::string>& excluded_schedulers);
// One more for the cluster gate, as a selector cannot exclude namespaces by a prefix.
kube::Json NotInAReservedNamespace();
// CEL: the labels of the object match the label selector `selector` (CEL), which may be absent.
std::string IsSelectedBy(const std::string& selector);
// CEL: the request is in a namespace that `excluded` names; not for an empty one.
std::string IsInOneOf(const api::ExcludedNamespaces& excluded);
// For a rule that is in force. An expression that fails for a pod does not select it, as webhooks
// and policies ignore failures.
kube::Json RuleCondition(const std::string& expression);

// CEL: true if the pod's nodeSelector, or each of its required terms, has the architecture's key.
std::string RequiresArchitecture();
// CEL: true if a preferred term has the architecture's key.
std::string PrefersArchitecture();

// The names of conditions: a gate is for pods that RequiresArchitecture(), or for the others.
inline constexpr char kArchitectureRequired[] = "architecture-required";
inline constexpr char kArchitectureNotRequired[] = "architecture-not-required";
// Whether `conditions`, which may be nullptr, has one with `name`.
bool HasCondition(const kube::Json* conditions, std::string_view name);

// The rule of both: creations of pods.
kube::Json PodRule();

// The namespaces that `config` selects, without the reserved ones and those that opt out.
kube::Json ClusterNamespaceSelector(const api::ClusterPodPlacementConfig& config,
                                    const OperandOptions& options);
// The pods that `config` selects.
kube::Json PodSelector(const api::PodPlacementConfig& config);

}  // namespace operator_
