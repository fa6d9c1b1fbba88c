// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/access/agent_access.h"

#include <algorithm>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/names.h"
#include "fleet/api/reading.h"
#include "fleet/image-facts/fleet_objects.h"
#include "image-facts/image_facts.h"

namespace fleet {
namespace {

using kube::Json;

constexpr size_t kMaxNamespace = 63;

// A DNS label.
bool IsNamespaceName(std::string_view name) {
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxNamespace && alphanumeric(name.front()) &&
         alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
}

Json NewObject(const kube::Resource& resource, std::string_view cluster, std::string name) {
  Json object;
  object["apiVersion"] = resource.ApiVersion();
  object["kind"] = std::string(resource.kind);
  object["metadata"]["name"] = std::move(name);
  if (resource.namespaced) object["metadata"]["namespace"] = std::string(cluster);
  object["metadata"]["labels"][std::string(kClusterNameLabel)] = std::string(cluster);
  return object;
}

Json Rule(std::string_view group, std::string_view resource, std::vector<std::string> names,
          std::vector<std::string> verbs) {
  Json rule;
  rule["apiGroups"] = Json::array({std::string(group)});
  rule["resources"] = Json::array({std::string(resource)});
  rule["resourceNames"] = std::move(names);
  rule["verbs"] = std::move(verbs);
  return rule;
}

// Its own ManagedCluster, and what the hub shares with all members.
Json Rules(std::string_view cluster) {
  constexpr kube::Resource kFacts = kube::ResourceOf<image_facts::ImageFacts>::value;
  const std::vector<std::string> own{std::string(cluster)};
  return Json::array(
      {Rule(kGroup, kManagedClusters.plural, own, {"get", "list", "watch"}),
       Rule(kGroup, std::string(kManagedClusters.plural) + "/status", own, {"patch"}),
       Rule(kFacts.group, kFacts.plural, SharedNames(), {"get"})});
}

// Binds the ServiceAccount to the ClusterRole `role`.
Json Binding(const kube::Resource& resource, std::string_view cluster, const std::string& name,
             const std::string& role) {
  Json binding = NewObject(resource, cluster, name);
  binding["roleRef"] = {{"apiGroup", std::string(kube::kClusterRoles.group)},
                        {"kind", std::string(kube::kClusterRoles.kind)},
                        {"name", role}};
  Json subject = {{"kind", std::string(kube::kServiceAccounts.kind)},
                  {"name", std::string(kAgentAccess)},
                  {"namespace", std::string(cluster)}};
  binding["subjects"] = Json::array({std::move(subject)});
  return binding;
}

}  // namespace

std::optional<std::string> RefusedName(std::string_view cluster, std::string_view hub_namespace) {
  if (!IsNamespaceName(cluster)) return "its name cannot be the name of a namespace";
  bool reserved = cluster == "default" || cluster == "kube" || cluster.starts_with("kube-") ||
                  cluster.starts_with("openshift");
  if (reserved) return "its name is reserved for namespaces of the hub's own cluster";
  if (cluster == hub_namespace) return "its name is that of the hub's own namespace";
  return std::nullopt;
}

bool IsClusterNamespace(const Json& ns) {
  std::string name = kube::StringAt(ns, "metadata.name");
  return !name.empty() && MetadataString(ns, "metadata.labels", kClusterNameLabel) == name;
}

Json ClusterNamespace(std::string_view cluster) {
  return NewObject(kube::kNamespaces, cluster, std::string(cluster));
}

std::vector<Json> AgentAccess(std::string_view cluster) {
  const std::string account(kAgentAccess);
  const std::string role = account + ":" + std::string(cluster);
  Json cluster_role = NewObject(kube::kClusterRoles, cluster, role);
  cluster_role["rules"] = Rules(cluster);
  std::vector<Json> objects;
  objects.push_back(NewObject(kube::kServiceAccounts, cluster, account));
  objects.push_back(Binding(kube::kRoleBindings, cluster, account, account));
  objects.push_back(std::move(cluster_role));
  objects.push_back(Binding(kube::kClusterRoleBindings, cluster, role, role));
  return objects;
}

}  // namespace fleet
