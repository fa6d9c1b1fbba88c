// SPDX-License-Identifier: Apache-2.0
// The built-in kinds that programs handle as JSON (Unstructured), most of them without a C++ type.
#pragma once

#include "kube/types/resource.h"

namespace kube {

inline constexpr Resource kPods = ResourceOf<core::Pod>::value;
inline constexpr Resource kNodes = ResourceOf<core::Node>::value;
inline constexpr Resource kNamespaces = ResourceOf<core::Namespace>::value;
inline constexpr Resource kEvents = ResourceOf<core::Event>::value;
inline constexpr Resource kSecrets = ResourceOf<core::Secret>::value;
inline constexpr Resource kConfigMaps = ResourceOf<core::ConfigMap>::value;
inline constexpr Resource kLeases = ResourceOf<coordination::Lease>::value;
inline constexpr Resource kServices{"", "v1", "services", "Service"};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr Resource kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
inline constexpr Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
inline constexpr Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet"};
inline constexpr Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet"};
inline constexpr Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies",
                                           "NetworkPolicy"};
inline constexpr Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                                "PodDisruptionBudget"};
inline constexpr Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
inline constexpr Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                        "RoleBinding"};
inline constexpr Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles",
                                        "ClusterRole", false};
inline constexpr Resource kClusterRoleBindings{"rbac.authorization.k8s.io", "v1",
                                               "clusterrolebindings", "ClusterRoleBinding", false};
inline constexpr Resource kMutatingWebhookConfigurations{"admissionregistration.k8s.io", "v1",
                                                         "mutatingwebhookconfigurations",
                                                         "MutatingWebhookConfiguration", false};
inline constexpr Resource kValidatingWebhookConfigurations{"admissionregistration.k8s.io", "v1",
                                                           "validatingwebhookconfigurations",
                                                           "ValidatingWebhookConfiguration", false};
inline constexpr Resource kValidatingAdmissionPolicies{"admissionregistration.k8s.io", "v1",
                                                       "validatingadmissionpolicies",
                                                       "ValidatingAdmissionPolicy", false};
inline constexpr Resource kValidatingAdmissionPolicyBindings{
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding", false};
inline constexpr Resource kMutatingAdmissionPolicies{"admissionregistration.k8s.io", "v1",
                                                     "mutatingadmissionpolicies",
                                                     "MutatingAdmissionPolicy", false};
inline constexpr Resource kMutatingAdmissionPolicyBindings{"admissionregistration.k8s.io", "v1",
                                                           "mutatingadmissionpolicybindings",
                                                           "MutatingAdmissionPolicyBinding", false};
inline constexpr Resource kCustomResourceDefinitions{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};
inline constexpr Resource kSubjectAccessReviews{
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false};
inline constexpr Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews",
                                        "TokenReview", false};

}  // namespace kube
