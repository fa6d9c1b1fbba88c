// SPDX-License-Identifier: Apache-2.0
// Resolve(): DNS lookups with a deadline, with the rules of a pod: /etc/hosts, then the name
// servers of /etc/resolv.conf with its search domains and options; addresses are ordered by RFC
// 6724.
//
// Asynchronous, by c-ares on the caller's executor. Each lookup has its own sockets, so an
// unanswered name delays no other lookup, a cancelled lookup leaves nothing behind, and no memory
// is held between lookups. Nothing is cached: a changed resolv.conf applies to the next lookup.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

// The name servers; other than the default in tests only.
struct NameServers {
  std::string resolv_conf;  // a path; empty: /etc/resolv.conf
  uint16_t port = 53;

  bool operator==(const NameServers&) const = default;
};

// Concurrent lookups per thread; further ones are refused. A safety limit far above normal use: a
// lookup holds about 80 KB.
inline constexpr size_t kMaxLookups = 256;

// At most 16 endpoints, best first; never empty. An IP address is returned without a lookup.
// Errors: kUnavailable, kDeadlineExceeded, kCancelled.
Async<std::vector<asio::ip::tcp::endpoint>> Resolve(std::string host, std::string port,
                                                    NameServers servers, Clock& clock,
                                                    TimePoint deadline);

}  // namespace kube
