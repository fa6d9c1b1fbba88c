// SPDX-License-Identifier: Apache-2.0
// Names to addresses within a deadline. getaddrinfo cannot be interrupted: on a timeout it is left behind, alone.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

// At most 16 endpoints, in the resolver's order; never empty. Addresses come back as they are, without a look-up.
// Errors: kUnavailable, kDeadlineExceeded, kCancelled.
Async<std::vector<asio::ip::tcp::endpoint>> Resolve(std::string host, std::string port, Clock& clock,
                                                    TimePoint deadline);

}  // namespace kube
