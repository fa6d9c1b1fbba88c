// SPDX-License-Identifier: Apache-2.0
// WarningFeature: the webhook of ephemeral containers as a feature of the operator.
#pragma once

#include <memory>
#include <string_view>

#include "operator/feature.h"

namespace operator_ {

// False while the plugin is enabled and the webhook does not run; otherwise there is none.
inline constexpr std::string_view kEphemeralContainerWarningsAvailable =
    "EphemeralContainerWarningsAvailable";

std::unique_ptr<Feature> NewWarningFeature();

}  // namespace operator_
