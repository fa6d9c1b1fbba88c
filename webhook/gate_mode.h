// SPDX-License-Identifier: Apache-2.0
// The mode that adds gates to pods, with --gate and --namespace: that of every command line that
// chooses no other mode.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "webhook/gate_webhook.h"
#include "webhook/mode.h"

namespace webhook {

// From --gate and --namespace. kInvalid, with the flag.
kube::Result<GateWebhookOptions> GateOptionsFromFlags(const std::string& operator_namespace);

// A ChooseMode; never nullopt.
kube::Result<std::optional<ChosenMode>> ChooseGateMode(const std::string& operator_namespace);

}  // namespace webhook
