// SPDX-License-Identifier: Apache-2.0
// IsRefusal(): distinguishes permanent from temporary failures of a write.
#pragma once

#include "kube/base/error.h"

namespace kube {

// True if the API server refused the contents of the write by validation, an admission webhook or a
// policy: the same write fails again. These are all 4xx errors except conflicts, deleted objects,
// throttling, timeouts, and errors that concern the caller: unauthenticated or without permission
// (which an API server also reports to permitted callers right after its start).
bool IsRefusal(const Error& error);

}  // namespace kube
