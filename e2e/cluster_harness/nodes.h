// SPDX-License-Identifier: Apache-2.0
// Nodes by hand: one of each architecture, Ready and with plenty of room.
#pragma once

#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace e2e {

// The one that our own programs run on.
inline constexpr const char* kOwnArchitecture = "amd64";

// "node-amd64" and so on.
std::vector<kube::Json> NodesOfEveryArchitecture();

}  // namespace e2e
