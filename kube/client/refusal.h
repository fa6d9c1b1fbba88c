// SPDX-License-Identifier: Apache-2.0
// Which failed writes the API server will refuse for as long as they say the same.
#pragma once

#include "kube/base/error.h"

namespace kube {

// True if validation, an admission webhook or a policy refused the contents of the write: any 4xx,
// but for a conflict, an object that is gone, throttling, a timeout and what concerns the caller
// instead (unauthenticated, or without the permission: right after its start an API server says so
// to everybody).
bool IsRefusal(const Error& error);

}  // namespace kube
