// SPDX-License-Identifier: Apache-2.0
// Own network: a network namespace for this process and its children, so that the control plane can
// have fixed ports, every pod process an address of its own, and nothing can leave the machine.
#pragma once

#include "kube/base/error.h"

namespace e2e {

// All of it is local: a process may bind any of its addresses.
inline constexpr std::string_view kPodNetwork = "10.250.0.0/16";

// Moves this process (which must not have threads yet) into a new network namespace, as root or
// with a user namespace of its own, and brings loopback up. kPermissionDenied where the machine
// allows neither.
kube::Result<> EnterOwnNetwork();

}  // namespace e2e
