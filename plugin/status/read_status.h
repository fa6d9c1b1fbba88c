// SPDX-License-Identifier: Apache-2.0
// Reads how the operator is, with the user's rights. Thread: the client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "plugin/status/status.h"

namespace plugin {

// `ns`: of configs, shards and pods; "" for all. What may not be read is named in the result.
// Errors: kCancelled.
kube::Async<StatusEvidence> ReadStatus(kube::Client& client, kube::Clock& clock, std::string ns);

}  // namespace plugin
