// SPDX-License-Identifier: Apache-2.0
// KnownImages: pods whose images are known when they are created can be placed then, without the
// cluster gate (placement/placed_at_creation.h).
#pragma once

#include <array>
#include <string_view>

namespace api {

// Values of the ClusterPodPlacementConfig's field knownImages.
inline constexpr std::string_view kGateKnownImages = "Gate";
inline constexpr std::string_view kPlaceKnownImages = "PlaceAtCreation";
inline constexpr std::array<std::string_view, 2> kKnownImages = {kGateKnownImages,
                                                                 kPlaceKnownImages};

// On a pod that was placed when it was created; the value is empty.
inline constexpr std::string_view kPlacedAtCreationLabel =
    "multiarch.openshift.io/placed-at-creation";

// Paths of the cluster's webhook for pods that no PodPlacementConfig can change: as those of
// names.h, but a pod whose images are known is placed.
inline constexpr std::string_view kPlacePath = "/place-pod";
inline constexpr std::string_view kPlaceWithPreferencesPath = "/place-pod/with-preferences";

}  // namespace api
