// SPDX-License-Identifier: Apache-2.0
// AddressPolicy: where a registry may send us. A redirect, or a token server's URL, is the registry's word alone; it
// must not turn us into a way to reach what only we can reach (metadata services, the cluster's own network).
#pragma once

#include <boost/asio/ip/address.hpp>
#include <set>

namespace inspection {

enum class AddressClass {
  kPublic,
  kPrivate,    // RFC 1918, RFC 6598 (100.64/10), fc00::/7
  kLoopback,
  kLinkLocal,  // 169.254/16, fe80::/10
  kReserved,   // unspecified, multicast, broadcast, 240/4
};

// IPv4 inside IPv6 (mapped, NAT64, 6to4) counts as what is inside.
AddressClass ClassOf(const boost::asio::ip::address& address);

// Public addresses always; another class only if the registry itself lives in that class. Reserved ones never.
bool MaySendTo(AddressClass target, const std::set<AddressClass>& registry);

}  // namespace inspection
