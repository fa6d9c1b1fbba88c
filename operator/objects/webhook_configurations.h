// SPDX-License-Identifier: Apache-2.0
// WebhookConfigurations: which requests the API server sends to which webhook.
//
// matchConditions (pod_conditions.h) repeat the rules of placement/gating.h that the API server can
// evaluate itself, so it makes no call for pods that are never gated. The webhook applies the same
// rules to the requests that it gets.
//
// Each configuration that gates pods has one more entry, the last one, by which the operator finds
// out whether calls reach the webhook (probes/). It has the Service and the CA bundle of the
// others, and matches only the operator's dry run of a Deployment in its own namespace.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/validation.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"
#include "operator/rules/left_out_rules.h"

namespace operator_ {

inline constexpr std::string_view kValidatingWebhookConfigurationName =
    "multiarch-tuning-operator-validating-webhook-configuration";
// The CRD whose versions the operator converts.
inline constexpr std::string_view kConvertedCrdName =
    "clusterpodplacementconfigs.multiarch.openshift.io";

// True for namespaces whose pods are never gated, whatever the selectors are: kube-* and the
// operator's own.
bool IsReservedNamespace(std::string_view ns, const OperandOptions& options);

// Limits each of `webhooks` to the namespaces that are not excluded by OperandOptions, and adds one
// of each for the excluded ones that have the label: a condition does not see the labels of the
// namespace, and a selector knows no prefixes.
void AddIncludedNamespaces(kube::Json& webhooks, const OperandOptions& options);

// For all pods of the namespaces that `config` selects, without the reserved ones and those that
// are excluded (api/excluded_namespaces.h). A pod that already requires an architecture needs no
// requirement, so the API server calls the webhook for it only if an architecture may be preferred:
// by `config`, or by a PodPlacementConfig of the pod's namespace if that is in
// `preferring_namespaces`.
//
// There the pod needs the cluster gate although a shard sets the preferences: the API server calls
// configurations in the order of their names, this one ("pod-placement-mutating-...") before the
// shard's ("pod-placement-shard-..."), when it is not known yet whether the shard's webhook
// answers. If that does not answer, the cluster controller sets the preferences (I4); else the
// shard drops its gate first (I1). A namespace is in `preferring_namespaces` from its first
// PodPlacementConfig on, whether its shard runs or not.
//
// With `places`, the webhook may place pods of other namespaces without a gate
// (api/known_images.h): a PodPlacementConfig cannot change these pods. Those of these namespaces it
// may place behind the local gate, which they have when the API server calls it again. Only for
// webhooks that all know these paths.
kube::Json ClusterWebhookConfiguration(const api::ClusterPodPlacementConfig& config,
                                       const std::vector<std::string>& preferring_namespaces,
                                       const std::string& ca_bundle_pem,
                                       const OperandOptions& options, bool places = false);

// The `preferring_namespaces` of such a configuration; nullopt if they make no difference in it.
std::optional<std::set<std::string>> PreferringNamespacesOf(const kube::Json& configuration);

// For each of the configs that are `in_force` (api::InForce), one entry if its plugin prefers an
// architecture, and one for each rule that is not in `left_out`, for the pods that the rule
// matches; the API server calls them in that order. A config whose plugin is disabled, or whose
// spec is invalid, has no entry: its pods would wait without need. A config with only other plugins
// has no entry either: the cluster controller applies them. Without any entry, there is none for
// the probe either. `excluded_schedulers`: of the ClusterPodPlacementConfig.
kube::Json ShardWebhookConfiguration(const std::string& ns,
                                     const api::PodPlacementConfigs& in_force,
                                     const LeftOutRulesOf& left_out,
                                     const std::vector<std::string>& excluded_schedulers,
                                     const std::string& ca_bundle_pem,
                                     const OperandOptions& options);

// The name of the entry of PodPlacementConfig ns/name, or of its rule: a DNS name, at most 253
// characters. All entries of a namespace have different names.
std::string ShardWebhookEntryName(const std::string& ns, const std::string& name,
                                  const std::string& rule = "");

// A kind of a feature (feature.h) whose creations and updates the operator validates. Allowed ones
// have no side effects.
struct ValidatedKind {
  // The name of the webhook.
  std::string_view name;
  std::string_view path;
  kube::Resource resource;
};

// Validation by the operator of its two kinds and of `more`. Deletions are not validated, except
// that of the ClusterPodPlacementConfig, so the deletion of a namespace never waits for an operator
// that does not run. The operator's own writes are not validated either.
kube::Json ValidatingWebhookConfiguration(const std::vector<ValidatedKind>& more,
                                          const std::string& ca_bundle_pem,
                                          const OperandOptions& options);

}  // namespace operator_
