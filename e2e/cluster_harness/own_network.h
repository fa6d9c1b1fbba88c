// SPDX-License-Identifier: Apache-2.0
// Own network: a network namespace for this process and its children. The control plane has fixed
// ports, every pod process its own address, and no connection leaves the machine.
#pragma once

#include "kube/base/error.h"

namespace e2e {

// A local route: a process may bind any address in it.
inline constexpr std::string_view kPodNetwork = "10.250.0.0/16";

// Moves this process, which must not have threads yet, into a new network namespace, as root or
// with a new user namespace, and brings up loopback. kPermissionDenied if neither is allowed. A
// later call has no effect, and the same result.
kube::Result<> EnterOwnNetwork();

}  // namespace e2e
