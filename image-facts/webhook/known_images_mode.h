// SPDX-License-Identifier: Apache-2.0
// The mode that adds the cluster gate to pods whose images are not known, and places the others:
// --known-images.
#pragma once

#include <optional>
#include <string>

#include "webhook/mode.h"

namespace image_facts {

// A ChooseMode.
kube::Result<std::optional<webhook::ChosenMode>> ChooseKnownImagesMode(
    const std::string& operator_namespace);

}  // namespace image_facts
