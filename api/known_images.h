// SPDX-License-Identifier: Apache-2.0
// KnownImages: pods whose images are known when they are created are placed then, without the
// cluster gate (placement/placed_at_creation.h).
#pragma once

#include <string_view>

namespace api {

// On a pod that was placed when it was created; the value is empty.
inline constexpr std::string_view kPlacedAtCreationLabel =
    "multiarch.openshift.io/placed-at-creation";

}  // namespace api
