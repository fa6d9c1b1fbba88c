// SPDX-License-Identifier: Apache-2.0
// Which errors of the API server the same call gets again. They are told apart by code and reason;
// by the message only where the Status says it nowhere else.
#pragma once

#include "kube/base/error.h"

namespace kube {

// True if the API server refused the contents of a write by validation, an admission webhook, a
// policy or a quota: the same write fails again, and another one may succeed. These are all 4xx
// errors except conflicts, deleted objects, throttling, timeouts, and errors that concern the
// caller: unauthenticated or without permission.
bool IsRefusal(const Error& error);

// True if the API server's authorizer denied the call. It also does so for permitted callers right
// after its start. Not for contents that are forbidden: IsRefusal().
bool LacksPermission(const Error& error);

// True if the same call fails again until others change something: refused contents, a missing
// permission, or an object, namespace or kind that does not exist. Other errors pass by a retry.
bool FailsAgain(const Error& error);

}  // namespace kube
