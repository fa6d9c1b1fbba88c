// SPDX-License-Identifier: Apache-2.0
// Metadata that all objects of the operator share.
//
// Ownership. No object has an ownerReference to a PodPlacementConfig or the
// ClusterPodPlacementConfig: the garbage collector would delete webhook, controller and permissions
// in any order and leave gated pods behind; the operator deletes them in a safe order
// (teardown/teardown.h). All objects outside of the operator's Namespace are owned by it, so none
// outlives an operator that was deleted together with its namespace
// (teardown/own_namespace_teardown.h).
#pragma once

#include <string>
#include <string_view>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

// On all objects of the operator and on no other: undeploy lists by it.
inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManagedBy = "multiarch-tuning-operator";
inline constexpr std::string_view kManagedBySelector =
    "app.kubernetes.io/managed-by=multiarch-tuning-operator";
// The name of the operand, by which its pods are selected; unique in a namespace.
inline constexpr std::string_view kNameLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kVersionLabel = "app.kubernetes.io/version";
// On all objects of a shard, inside and outside of its namespace: that namespace.
inline constexpr std::string_view kShardNamespaceLabel = "multiarch.openshift.io/shard-namespace";
// On the gating probe and its Deployment (gating_policies.h).
inline constexpr std::string_view kGatingProbeLabel = "multiarch.openshift.io/gating-probe";

// apiVersion, kind and metadata with kManagedByLabel; `ns` is empty for cluster-scoped kinds.
inline kube::Json NewObject(const kube::Resource& resource, std::string_view ns,
                            std::string_view name) {
  kube::Json object = {{"apiVersion", resource.ApiVersion()},
                       {"kind", std::string(resource.kind)},
                       {"metadata", {{"name", std::string(name)}}}};
  object["metadata"]["labels"][std::string(kManagedByLabel)] = std::string(kManagedBy);
  if (!ns.empty()) object["metadata"]["namespace"] = std::string(ns);
  return object;
}

// An ownerReference to the operator's Namespace.
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

// A cluster-scoped object, owned by the operator's Namespace.
inline kube::Json NewClusterScoped(const kube::Resource& resource, std::string_view name,
                                   const OperandOptions& options) {
  kube::Json object = NewObject(resource, "", name);
  OwnByNamespace(object, options);
  return object;
}

inline void SetLabel(kube::Json& object, std::string_view label, std::string_view value) {
  object["metadata"]["labels"][std::string(label)] = std::string(value);
}

}  // namespace operator_
