// SPDX-License-Identifier: Apache-2.0
// The mode of //webhook that applies scheduling policies, with --policies.
#pragma once

#include "webhook/mode.h"

namespace policy {

// A webhook::ChooseMode.
kube::Result<std::optional<webhook::ChosenMode>> ChoosePolicyMode(
    const std::string& operator_namespace);

}  // namespace policy
