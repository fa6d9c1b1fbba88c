// SPDX-License-Identifier: Apache-2.0
// PodEvents: which events of pods are recorded. Each costs the API server a write.
#pragma once

#include <array>
#include <string_view>

namespace api {

// Values of the ClusterPodPlacementConfig's field podEvents.
inline constexpr std::string_view kAllPodEvents = "All";
// Warnings, and that no node can run the pod.
inline constexpr std::string_view kProblemsOfPods = "Problems";
inline constexpr std::array<std::string_view, 2> kPodEvents = {kAllPodEvents, kProblemsOfPods};

}  // namespace api
