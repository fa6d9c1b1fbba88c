// SPDX-License-Identifier: Apache-2.0
// CEL of MutatingAdmissionPolicies that patch a pod: expressions for lists of JSONPatch.
//
// A JSONPatch adds values that are strings, or maps and lists of them; never an Object.spec.x{}: in
// a list, it makes the API server panic (Kubernetes 1.36), which closes the connection of the user
// who creates the pod.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/types/unstructured.h"

namespace operator_ {

// One patch.
std::string AddAt(const std::string& path, const std::string& value);
std::string RemoveAt(const std::string& path);

// True if the pod has `gate`.
std::string HasGate(std::string_view gate);
// Adds `gate`.
std::string AddGate(std::string_view gate);

struct CelEntry {
  std::string_view key;
  std::string value;
};

// Sets `entries` in the map object.metadata.FIELD, which may be absent.
std::string SetEntries(const std::string& field, const std::vector<CelEntry>& entries);

// An entry of a policy's variables.
kube::Json Variable(const char* name, std::string expression);

// `json`, whose maps and lists may have values of different types.
std::string Literal(const kube::Json& json);

}  // namespace operator_
