// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "api/names.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// A requirement of a namespaceSelector on the name of the namespace. `op`: In or NotIn.
inline kube::Json NamespaceIn(const char* op, kube::Json names) {
  return {{"key", "kubernetes.io/metadata.name"}, {"operator", op}, {"values", std::move(names)}};
}

// The requirement of a namespaceSelector that the namespace does not opt out.
inline kube::Json NamespaceNotOptedOut() {
  return {{"key", std::string(api::kExcludeLabel)}, {"operator", "DoesNotExist"}};
}

// A namespaceSelector for one namespace.
inline kube::Json SelectNamespace(const std::string& ns) {
  return {{"matchExpressions", kube::Json::array({NamespaceIn("In", kube::Json::array({ns}))})}};
}

}  // namespace operator_
