// SPDX-License-Identifier: Apache-2.0
// The resources that flows use as JSON.
#pragma once

#include "api/names.h"
#include "kube/types/kinds.h"
#include "kube/types/resource.h"

namespace e2e {

using kube::Resource;

using kube::kClusterRoleBindings;
using kube::kClusterRoles;
using kube::kConfigMaps;
using kube::kDaemonSets;
using kube::kDeployments;
using kube::kEvents;
using kube::kLeases;
using kube::kMutatingWebhookConfigurations;
using kube::kNamespaces;
using kube::kNetworkPolicies;
using kube::kNodes;
using kube::kPodDisruptionBudgets;
using kube::kPods;
using kube::kReplicaSets;
using kube::kResourceQuotas;
using kube::kRoleBindings;
using kube::kRoles;
using kube::kSecrets;
using kube::kServiceAccounts;
using kube::kServices;
using kube::kSubjectAccessReviews;
using kube::kValidatingWebhookConfigurations;

inline constexpr Resource kConfigs{api::kGroup, "v1beta1", "podplacementconfigs",
                                   "PodPlacementConfig"};
inline constexpr Resource kClusterConfigs{api::kGroup, "v1beta1", "clusterpodplacementconfigs",
                                          "ClusterPodPlacementConfig", false};

}  // namespace e2e
