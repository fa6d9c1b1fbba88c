// SPDX-License-Identifier: Apache-2.0
// KnownImagesFeature: the condition KnownImages of the ClusterPodPlacementConfig says how many pods
// are placed at their creation, and if none can be, why. Once a minute, it asks a replica of the
// cluster's webhook, by a dry run as that of operator/probes/.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "image-facts/policy/policy_metrics.h"
#include "operator/feature.h"

namespace image_facts {

inline constexpr std::string_view kKnownImagesCondition = "KnownImages";
inline constexpr std::chrono::seconds kReportEvery{60};
// A replica that has not answered for this time does not count any more.
inline constexpr std::chrono::minutes kReportCounts{30};

// `metrics` outlives it.
std::unique_ptr<operator_::Feature> NewKnownImagesFeature(const PolicyMetrics& metrics);

}  // namespace image_facts
