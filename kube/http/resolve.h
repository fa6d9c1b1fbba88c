// SPDX-License-Identifier: Apache-2.0
// Names to addresses within a deadline, as a pod is to resolve them: /etc/hosts, then the name
// servers of /etc/resolv.conf with its search domains and options; RFC 6724 orders the addresses.
//
// Asynchronous, by c-ares on the caller's executor, and each lookup by itself with sockets of its
// own: names that are never answered delay no other lookup, a cancelled one leaves nothing behind,
// and while there is none nothing is held. Nothing is remembered, so a changed resolv.conf counts
// for the next lookup.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

// Where names are asked for. Tests have servers of their own.
struct NameServers {
  std::string resolv_conf;  // a path; empty: /etc/resolv.conf
  uint16_t port = 53;

  bool operator==(const NameServers&) const = default;
};

// Lookups at a time in a thread; further ones are refused. More than any program of ours begins: it
// is for what holds the sockets of a lookup, some 80 KB.
inline constexpr size_t kMaxLookups = 256;

// At most 16 endpoints, best first; never empty. Addresses come back as they are, without a lookup.
// Errors: kUnavailable, kDeadlineExceeded, kCancelled.
Async<std::vector<asio::ip::tcp::endpoint>> Resolve(std::string host, std::string port,
                                                    NameServers servers, Clock& clock,
                                                    TimePoint deadline);

}  // namespace kube
