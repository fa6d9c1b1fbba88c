// SPDX-License-Identifier: Apache-2.0
// GatingCases: pods for the comparison of gating by webhook and by policy (gating_policies.cc), in
// namespaces with and without the configs of GatingConfigs().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "e2e/framework/objects.h"

namespace e2e {

struct GatingCase {
  std::string name;
  Json pod;
  // "c" and "l" for the cluster gate and the local gate that the pod has in a namespace with the
  // configs, without preferences of the cluster; nullopt if the comparison is enough.
  std::optional<std::string> gates = {};
};

// The ClusterPodPlacementConfig excludes it.
inline constexpr char kExcludedScheduler[] = "e2e.example.com/batch";

// With selectors of each kind. Without rules: policies do not gate a namespace that has some.
std::vector<ConfigBuilder> GatingConfigs();

// Those of webhook/testdata/ that an API server accepts as a pod, and more.
std::vector<GatingCase> GatingCases();

}  // namespace e2e
