// SPDX-License-Identifier: Apache-2.0
// AgentAccess: the objects on the hub that give access to the agent of one cluster alone: an
// identity in the cluster's namespace, its rights in that namespace, the right to publish the
// status of the ManagedCluster with this name, and to read what the hub shares about images. Pure.
//
// The rights in the namespace are the ClusterRole kAgentAccess, which is the same for all clusters
// and is part of the deployment (fleet/manifests/hub/base/agent_role.yaml).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/kinds.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The ServiceAccount, the RoleBinding and the static ClusterRole. With ":" and the cluster's name,
// of its ClusterRole and ClusterRoleBinding.
inline constexpr std::string_view kAgentAccess = "multiarch-fleet-agent";
// A label of a cluster's namespace, and of the objects that give access: the cluster's name. It is
// OCM's label.
inline constexpr std::string_view kClusterNameLabel = "open-cluster-management.io/cluster-name";

// Why no access may be given for a cluster named `cluster`: its namespace would be one of the
// cluster's own (kube-*, default, openshift*), or `hub_namespace`, or the name cannot be that of a
// namespace. nullopt: it may.
std::optional<std::string> RefusedName(std::string_view cluster, std::string_view hub_namespace);

// Whether `ns`, a Namespace, is that of the cluster with its name: it has the label.
bool IsClusterNamespace(const kube::Json& ns);

// The Namespace of the cluster, with the label.
kube::Json ClusterNamespace(std::string_view cluster);

// The resources of AgentAccess(), in its order. The ServiceAccount is the first to create and the
// last to delete.
inline constexpr std::array<kube::Resource, 4> kAgentAccessResources = {
    kube::kServiceAccounts, kube::kRoleBindings, kube::kClusterRoles, kube::kClusterRoleBindings};

// The objects for the cluster, complete for a server-side apply. A RefusedName() gets none: the
// caller asks first.
std::vector<kube::Json> AgentAccess(std::string_view cluster);

}  // namespace fleet
