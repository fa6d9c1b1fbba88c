// SPDX-License-Identifier: Apache-2.0
// Resource: the path of a kind in the API. ResourceOf<T>: the resource of a C++ type.
//
// A type T is an API object if ResourceOf<T>::value exists and T is either a protobuf message of
// this folder (built-in kinds, encoded as protobuf) or a struct with metadata(), FromJson() and
// ToJson() (custom resources, encoded as JSON).
#pragma once

#include <string>
#include <string_view>

#include "kube/types/coordination.pb.h"
#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"

namespace kube {

struct Resource {
  std::string_view group;    // "" for core
  std::string_view version;  // "v1"
  std::string_view plural;   // "pods"
  std::string_view kind;     // "Pod"
  bool namespaced = true;

  // "v1" or "apps/v1"
  std::string ApiVersion() const;
  // "/api/v1/namespaces/ns/pods/web"; without `ns` the path of all namespaces, without `name` of
  // the collection. Both are percent-encoded: a name from an untrusted object adds no path segment.
  std::string Path(std::string_view ns = "", std::string_view name = "",
                   std::string_view subresource = "") const;
};

template <class T>
struct ResourceOf;

template <>
struct ResourceOf<core::Pod> {
  static constexpr Resource value{"", "v1", "pods", "Pod"};
};
template <>
struct ResourceOf<core::Secret> {
  static constexpr Resource value{"", "v1", "secrets", "Secret"};
};
template <>
struct ResourceOf<core::ConfigMap> {
  static constexpr Resource value{"", "v1", "configmaps", "ConfigMap"};
};
template <>
struct ResourceOf<core::Namespace> {
  static constexpr Resource value{"", "v1", "namespaces", "Namespace", false};
};
template <>
struct ResourceOf<core::Node> {
  static constexpr Resource value{"", "v1", "nodes", "Node", false};
};
template <>
struct ResourceOf<core::Event> {
  static constexpr Resource value{"", "v1", "events", "Event"};
};
template <>
struct ResourceOf<coordination::Lease> {
  static constexpr Resource value{"coordination.k8s.io", "v1", "leases", "Lease"};
};

// The name of an object within its resource; cluster-scoped objects have an empty `ns`.
struct ObjectKey {
  std::string ns;
  std::string name;

  // "ns/name", or "name" when cluster-scoped.
  std::string ToString() const { return ns.empty() ? name : ns + "/" + name; }
  auto operator<=>(const ObjectKey&) const = default;
};

template <class T>
ObjectKey KeyOf(const T& object) {
  return {object.metadata().namespace_(), object.metadata().name()};
}

}  // namespace kube

template <>
struct std::hash<kube::ObjectKey> {
  size_t operator()(const kube::ObjectKey& key) const noexcept {
    return std::hash<std::string>()(key.ns) * 31 + std::hash<std::string>()(key.name);
  }
};
