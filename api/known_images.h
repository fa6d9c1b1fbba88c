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

// On a pod that was placed when it was created. The value is empty, or kYieldsToNamespace.
inline constexpr std::string_view kPlacedAtCreationLabel =
    "multiarch.openshift.io/placed-at-creation";
// On a pod that a policy has placed: the images of its containers then, separated by commas.
inline constexpr std::string_view kPlacedForAnnotation = "multiarch.openshift.io/placed-for";
// The cluster's preferences in the pod are not for pods to which a PodPlacementConfig gives some:
// the shard decides.
inline constexpr std::string_view kYieldsToNamespace = "yields-to-namespace";

// Paths of the cluster's webhook for pods that no PodPlacementConfig can change: as those of
// names.h, but a pod whose images are known is placed.
inline constexpr std::string_view kPlacePath = "/place-pod";
inline constexpr std::string_view kPlaceWithPreferencesPath = "/place-pod/with-preferences";
// For pods that a PodPlacementConfig may change: they get the cluster gate, as by
// kClusterPreferencesPath. If the API server calls again, because the shard's webhook has added the
// local gate, a pod whose images are known is placed, and loses the cluster gate.
inline constexpr std::string_view kPlaceBehindLocalGatePath = "/place-pod/behind-local-gate";

}  // namespace api
