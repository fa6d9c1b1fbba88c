// SPDX-License-Identifier: Apache-2.0
// The conditions of flows about ephemeral containers.
#pragma once

#include "e2e/framework/flow.h"

namespace e2e {

// No object of the webhook of ephemeral containers is left.
Condition WarningWebhookRemoved();

}  // namespace e2e
