// SPDX-License-Identifier: Apache-2.0
// FleetStory: what happens to the objects of a fleet, as text for the demo. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

// One line for each fact about an object that was not so before, and for each taint that is gone:
// "ManagedCluster east: created", "ManagedCluster east: no taint unreachable:NoSelect",
// "Placement team/most-arm64: selects west". `before` is null for a new object, `after` for one
// that was deleted. Empty if nothing changed that matters here.
std::vector<std::string> FleetSteps(const kube::Resource& resource, const kube::Json& before,
                                    const kube::Json& after);

// The values of the AddOnPlacementScore that end with ".cpu": "amd64.cpu 50, arm64.cpu 75".
std::string CpuScoresText(const kube::Json& scores);

// The value of one of its scores; 0 if it is missing, as for the hub.
int64_t ScoreOf(const kube::Json& scores, const std::string& name);

// The clusters of a PlacementDecision, in its order.
std::vector<std::string> ClustersOf(const kube::Json& decision);

// Whether its condition `type` is True.
bool IsTrue(const kube::Json& object, std::string_view type);

}  // namespace e2e
