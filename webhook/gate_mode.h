// SPDX-License-Identifier: Apache-2.0
// The mode that adds gates to pods, with --gate and --namespace: that of every command line that
// chooses no other mode.
#pragma once

#include "webhook/mode.h"

namespace webhook {

// A ChooseMode; never nullopt.
kube::Result<std::optional<ChosenMode>> ChooseGateMode(const std::string& operator_namespace);

}  // namespace webhook
