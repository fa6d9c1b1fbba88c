// SPDX-License-Identifier: Apache-2.0
// The resources that flows touch as plain JSON.
#pragma once

#include "api/names.h"
#include "kube/types/resource.h"

namespace e2e {

using kube::Resource;

inline constexpr Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kEvents{"", "v1", "events", "Event"};
inline constexpr Resource kSecrets{"", "v1", "secrets", "Secret"};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline constexpr Resource kServices{"", "v1", "services", "Service"};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr Resource kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
inline constexpr Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
inline constexpr Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet"};
inline constexpr Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet"};
inline constexpr Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                                "PodDisruptionBudget"};
inline constexpr Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies",
                                           "NetworkPolicy"};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
inline constexpr Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                        "RoleBinding"};
inline constexpr Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles",
                                        "ClusterRole", false};
inline constexpr Resource kClusterRoleBindings{"rbac.authorization.k8s.io", "v1",
                                               "clusterrolebindings", "ClusterRoleBinding", false};
inline constexpr Resource kMutatingWebhooks{"admissionregistration.k8s.io", "v1",
                                            "mutatingwebhookconfigurations",
                                            "MutatingWebhookConfiguration", false};
inline constexpr Resource kSubjectAccessReviews{
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false};
inline constexpr Resource kConfigs{api::kGroup, "v1beta1", "podplacementconfigs",
                                   "PodPlacementConfig"};
inline constexpr Resource kClusterConfigs{api::kGroup, "v1beta1", "clusterpodplacementconfigs",
                                          "ClusterPodPlacementConfig", false};

}  // namespace e2e
