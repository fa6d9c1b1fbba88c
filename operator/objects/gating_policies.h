// SPDX-License-Identifier: Apache-2.0
// GatingPolicies: MutatingAdmissionPolicies with which the API server itself gates new pods, in
// place of the webhook configurations (webhook_configurations.h). They set what
// webhook/gate_patch.h sets; e2e/flows/gating_policies.cc has one table of pods for both. What
// differs:
// - The API server evaluates policies before it calls any mutating webhook, and in no certain
//   order. They do not see what webhooks of others add to the pod (what a PodPlacementConfig misses
//   because of that, the cluster controller finds later, I4), and the entries of `local-configs`
//   have no order.
//
// Their number does not depend on what tenants create, as each costs the API server time for every
// new pod of the cluster. So one policy adds the local gate. The PodPlacementConfigs are its
// parameters: the API server evaluates it for each config of the pod's namespace, and it gates for
// those whose status says so (api::kGatedByPolicy). A namespace with rules has a webhook, as a
// policy cannot evaluate the expressions of its parameters.
//
// A policy has the rules and the expressions, its binding the selectors: the API server parses
// selectors again for each request, but those of a binding only if the policy matches.
//
// API servers learn of policies with a delay of about a second. GatingProbe() shows what one knows.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/known_table.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"

namespace operator_ {

// Each names a policy and its binding.
inline constexpr std::string_view kClusterGatePolicyName =
    "pod-placement-scheduling-gate.multiarch.openshift.io";
inline constexpr std::string_view kPreferencesGatePolicyName =
    "pod-placement-preferences-gate.multiarch.openshift.io";
inline constexpr std::string_view kLocalGatePolicyName =
    "pod-placement-local-gate.multiarch.openshift.io";
inline constexpr std::string_view kGatingProbeName =
    "pod-placement-gating-probe.multiarch.openshift.io";
// The Deployment of a probe has kGatingProbeLabel; the policy adds the annotation.
inline constexpr std::string_view kGatingProbeAnnotation = kGatingProbeLabel;

// The cluster gate for the pods of the namespaces that `config` selects, without the reserved ones;
// and a second policy for pods that already require an architecture, as the second entry of
// ClusterWebhookConfiguration(). That one is not wanted without `preferring_namespaces`, or if
// `config` has preferences itself, so the first is for all pods.
//
// Unless `known` is empty, the first places pods of these images, except in
// `preferring_namespaces`, where PodPlacementConfigs may change pods (known_images_cel.h).
DesiredObjects ClusterGatingPolicies(const api::ClusterPodPlacementConfig& config,
                                     const std::vector<std::string>& preferring_namespaces,
                                     const OperandOptions& options, const KnownTable& known = {});

// The `preferring_namespaces` of stored policies; nullopt if they make no difference. `policy` is
// that of kClusterGatePolicyName, `binding` that of kPreferencesGatePolicyName or null.
std::optional<std::set<std::string>> PreferringNamespacesOf(const kube::Json& policy,
                                                            const kube::Json& binding);

// The local gate, for all namespaces that do not opt out. Always wanted. `excluded_schedulers`: of
// the ClusterPodPlacementConfig.
DesiredObjects LocalGatingPolicy(const std::vector<std::string>& excluded_schedulers,
                                 const OperandOptions& options);

// To be written after other policies and bindings: an API server that knows this one knows those,
// too, or will at its next refresh a second later. That is so if a Deployment in the operator's
// namespace with the label kGatingProbeLabel: `hash`, created by a dry run, comes back with the
// annotation kGatingProbeAnnotation: `hash`. The binding has `hash` as well as the policy, as the
// API server reads the two kinds independently. `hash`: of all that was written before (hash.h).
DesiredObjects GatingProbe(const std::string& hash, const OperandOptions& options);

}  // namespace operator_
