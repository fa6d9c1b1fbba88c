// SPDX-License-Identifier: Apache-2.0
// The kinds that an API server of a test serves in both encodings: those with a message in
// kube/types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/testing/wire_json.h"
#include "kube/types/resource.h"

namespace kube {

// The field of each kind with a status.
inline constexpr int kStatusField = 3;

struct WireKind {
  Resource resource;
  std::string message;  // "kube.core.Pod"
  bool has_status = false;
};

const std::vector<WireKind>& WireKinds();
// By the path of the collection ("/api/v1/pods"); nullptr for a kind that exists as JSON only.
const WireKind* FindWireKind(std::string_view collection);
// The translation of their messages.
const WireJson& ApiWireJson();

}  // namespace kube
