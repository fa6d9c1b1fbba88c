// SPDX-License-Identifier: Apache-2.0
// WebhookConfigurations: which requests the API server sends to which of our webhooks.
//
// What the API server can decide by itself is said in matchConditions (CEL), so that no call is
// made for a pod that is never gated. All of them repeat rules of placement/gating.h: the webhook
// decides the same way when it is asked.
#pragma once

#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

inline constexpr std::string_view kValidatingWebhookConfigurationName =
    "multiarch-tuning-operator-validating-webhook-configuration";
// The CRD whose versions the operator converts.
inline constexpr std::string_view kConvertedCrdName =
    "clusterpodplacementconfigs.multiarch.openshift.io";

// Namespaces whose pods are never gated, whatever the selectors say: kube-* and the operator's own.
bool IsReservedNamespace(std::string_view ns, const OperandOptions& options);

// All pods of the namespaces that `config` selects, without the reserved ones. A pod that already
// requires its architecture needs no requirement, so there is no call for it unless an architecture
// may be preferred for it: by `config`, or by a PodPlacementConfig of its namespace, which
// `preferring_namespaces` then has.
//
// There the pod needs the cluster gate although a shard sets the preferences: the API server calls
// configurations in the order of their names, so this one ("pod-placement-mutating-...") before the
// shard's ("pod-placement-shard-..."), and cannot know whether the shard's webhook will answer. If
// that is missed, the cluster's controller sets the preferences (I4); if not, the shard drops its
// gate first (I1). A namespace is added when its first PodPlacementConfig is seen, whether its
// shard runs or not.
kube::Json ClusterWebhookConfiguration(const api::ClusterPodPlacementConfig& config,
                                       const std::vector<std::string>& preferring_namespaces,
                                       const std::string& ca_bundle_pem,
                                       const OperandOptions& options);

// One entry for each of `configs` that is in force (api::InForce) and prefers something; the API
// server calls them in that order. A config whose plugin is off, or whose spec has problems, has no
// entry: its pods would wait for nothing.
kube::Json ShardWebhookConfiguration(const std::string& ns,
                                     const std::vector<const api::PodPlacementConfig*>& configs,
                                     const std::string& ca_bundle_pem,
                                     const OperandOptions& options);

// The name of the entry of PodPlacementConfig ns/name: a DNS name, at most 253 characters.
std::string ShardWebhookEntryName(const std::string& ns, const std::string& name);

// Validation of both kinds by the operator. PodPlacementConfigs can always be deleted, so that no
// namespace's deletion waits for an operator that has gone; the operator's own writes are not sent
// to itself.
kube::Json ValidatingWebhookConfiguration(const std::string& ca_bundle_pem,
                                          const OperandOptions& options);

}  // namespace operator_
