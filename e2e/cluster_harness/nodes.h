// SPDX-License-Identifier: Apache-2.0
// Node objects: one for each architecture, Ready and with large capacities.
#pragma once

#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace e2e {

// The architecture of the node for the operator's programs.
inline constexpr const char* kOwnArchitecture = "amd64";

// A node `name` of `architecture`.
kube::Json MakeNode(const std::string& name, const std::string& architecture);

// "node-amd64" and so on.
std::vector<kube::Json> NodesOfEveryArchitecture();

}  // namespace e2e
