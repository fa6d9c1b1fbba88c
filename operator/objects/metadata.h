// SPDX-License-Identifier: Apache-2.0
// Metadata that all objects of the operator share: how they are found again, and who removes them.
//
// Ownership. Nothing has an ownerReference to a PodPlacementConfig or the ClusterPodPlacementConfig: the garbage
// collector would remove webhook, controller and permissions in any order, and leave gated pods behind; the operator
// removes them in the right one (see shard_reconciler.h). Cluster-scoped objects are owned by the operator's Namespace,
// so that no webhook configuration outlives an operator that was deleted together with its namespace.
#pragma once

#include <string>
#include <string_view>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// Every object of ours has it, and no other object: undeploy lists by it.
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManagedBy = "multiarch-tuning-operator";
inline constexpr std::string_view kManagedBySelector = "app.kubernetes.io/managed-by=multiarch-tuning-operator";
// The Deployment, Service or other name under which an object's pods are selected; unique in a namespace.
inline constexpr std::string_view kNameLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kVersionLabel = "app.kubernetes.io/version";
// On what belongs to a shard but lies outside its namespace, and on the shard's own objects: the shard's namespace.
inline constexpr std::string_view kShardNamespaceLabel = "multiarch.openshift.io/shard-namespace";
// Hash of the object as it was last applied: an object that has it already is not applied again.
inline constexpr std::string_view kAppliedHashAnnotation = "multiarch.openshift.io/applied-hash";

// apiVersion, kind and metadata with the labels of ours; `ns` is empty for cluster-scoped kinds.
inline kube::Json NewObject(const kube::Resource& resource, std::string_view ns, std::string_view name) {
  kube::Json object = {{"apiVersion", resource.ApiVersion()},
                       {"kind", std::string(resource.kind)},
                       {"metadata", {{"name", std::string(name)}}}};
  object["metadata"]["labels"][std::string(kManagedByLabel)] = std::string(kManagedBy);
  if (!ns.empty()) object["metadata"]["namespace"] = std::string(ns);
  return object;
}

inline void SetLabel(kube::Json& object, std::string_view label, std::string_view value) {
  object["metadata"]["labels"][std::string(label)] = std::string(value);
}

}  // namespace operator_
