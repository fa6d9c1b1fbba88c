// SPDX-License-Identifier: Apache-2.0
// Metadata that all objects of the operator share: how they are found again, and who removes them.
//
// Ownership. Nothing has an ownerReference to a PodPlacementConfig or the
// ClusterPodPlacementConfig: the garbage collector would remove webhook, controller and permissions
// in any order, and leave gated pods behind; the operator removes them in the right one (see
// shard_reconciler.h). All that lies outside of the operator's Namespace is owned by it, so that
// nothing outlives an operator that was deleted together with its namespace (see
// teardown/own_namespace_teardown.h).
#pragma once

#include <string>
#include <string_view>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

// Every object of ours has it, and no other object: undeploy lists by it.
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManagedBy = "multiarch-tuning-operator";
inline constexpr std::string_view kManagedBySelector =
    "app.kubernetes.io/managed-by=multiarch-tuning-operator";
// The Deployment, Service or other name under which an object's pods are selected; unique in a
// namespace.
inline constexpr std::string_view kNameLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kVersionLabel = "app.kubernetes.io/version";
// On what belongs to a shard but lies outside its namespace, and on the shard's own objects: the
// shard's namespace.
inline constexpr std::string_view kShardNamespaceLabel = "multiarch.openshift.io/shard-namespace";

// apiVersion, kind and metadata with the labels of ours; `ns` is empty for cluster-scoped kinds.
inline kube::Json NewObject(const kube::Resource& resource, std::string_view ns,
                            std::string_view name) {
  kube::Json object = {{"apiVersion", resource.ApiVersion()},
                       {"kind", std::string(resource.kind)},
                       {"metadata", {{"name", std::string(name)}}}};
  object["metadata"]["labels"][std::string(kManagedByLabel)] = std::string(kManagedBy);
  if (!ns.empty()) object["metadata"]["namespace"] = std::string(ns);
  return object;
}

// The operator's Namespace, as owner.
inline kube::meta::OwnerReference OwnNamespace(const OperandOptions& options) {
  kube::meta::OwnerReference owner;
  owner.set_api_version("v1");
  owner.set_kind("Namespace");
  owner.set_name(options.ns);
  owner.set_uid(options.ns_uid);
  return owner;
}

inline void OwnByNamespace(kube::Json& object, const OperandOptions& options) {
  object["metadata"]["ownerReferences"] = kube::Json::array({{{"apiVersion", "v1"},
                                                              {"kind", "Namespace"},
                                                              {"name", options.ns},
                                                              {"uid", options.ns_uid}}});
}

inline void SetLabel(kube::Json& object, std::string_view label, std::string_view value) {
  object["metadata"]["labels"][std::string(label)] = std::string(value);
}

}  // namespace operator_
