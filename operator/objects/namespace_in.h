// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>

#include "api/names.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// A requirement of a namespaceSelector on the name of the namespace. `op`: In or NotIn.
inline kube::Json NamespaceIn(const char* op, kube::Json names) {
  return {{"key", "kubernetes.io/metadata.name"}, {"operator", op}, {"values", std::move(names)}};
}

// The names that NamespaceIn("In") allows in `selector`.
inline std::set<std::string> NamespacesIn(const kube::Json& selector) {
  std::set<std::string> names;
  const kube::Json* expressions = kube::Find(selector, "matchExpressions");
  if (expressions == nullptr || !expressions->is_array()) return names;
  for (const kube::Json& expression : *expressions) {
    const kube::Json* values = kube::Find(expression, "values");
    if (kube::StringAt(expression, "key") != "kubernetes.io/metadata.name" ||
        kube::StringAt(expression, "operator") != "In" || values == nullptr || !values->is_array())
      continue;
    for (const kube::Json& value : *values) {
      if (value.is_string()) names.insert(value.get<std::string>());
    }
  }
  return names;
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
