// SPDX-License-Identifier: Apache-2.0
// Probe: the readiness probe of a kubelet over plain HTTP.
#pragma once

#include <chrono>
#include <string>

#include "kube/base/async.h"

namespace e2e {

// The status of GET http://ip:port/path. kUnavailable without an HTTP response within `limit`.
kube::Async<int> ProbeHttp(std::string ip, int port, std::string path,
                           std::chrono::milliseconds limit);

}  // namespace e2e
