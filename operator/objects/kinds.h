// SPDX-License-Identifier: Apache-2.0
// Kinds that the operator writes and that need no type of their own: they are handled as JSON.
#pragma once

#include "kube/types/resource.h"

namespace operator_ {

inline constexpr kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
inline constexpr kube::Resource kServices{"", "v1", "services", "Service"};
inline constexpr kube::Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr kube::Resource kSecrets{"", "v1", "secrets", "Secret"};
inline constexpr kube::Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
inline constexpr kube::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                              "RoleBinding"};
inline constexpr kube::Resource kClusterRoleBindings{
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false};
inline constexpr kube::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr kube::Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies",
                                                 "NetworkPolicy"};
inline constexpr kube::Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                                      "PodDisruptionBudget"};
inline constexpr kube::Resource kMutatingWebhookConfigurations{
    "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration", false};
inline constexpr kube::Resource kValidatingWebhookConfigurations{
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration", false};
inline constexpr kube::Resource kCustomResourceDefinitions{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};
inline constexpr kube::Resource kPrometheusRules{"monitoring.coreos.com", "v1", "prometheusrules",
                                                 "PrometheusRule"};

}  // namespace operator_
