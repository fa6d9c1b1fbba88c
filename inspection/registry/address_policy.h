// SPDX-License-Identifier: Apache-2.0
// AddressPolicy: which addresses may be asked. Pods name registries, and a redirect or a token
// server's URL is the registry's word alone; neither may turn us into a way to reach what only we
// can reach (metadata services, the cluster's own network). What DNS says is the word of whoever
// owns the name, so it decides nothing: not where a registry "lives", and not that a name still
// stands for the machine that it stood for a moment ago.
#pragma once

#include <boost/asio/ip/address.hpp>

#include "kube/http/url.h"

namespace inspection {

enum class AddressClass {
  kPublic,
  kPrivate,  // RFC 1918, RFC 6598 (100.64/10), fc00::/7
  kLoopback,
  kLinkLocal,  // 169.254/16, fe80::/10, and what clouds use in its place
  kReserved,   // unspecified, multicast, broadcast, 240/4
};

// IPv4 inside IPv6 (mapped, NAT64, 6to4) counts as what is inside.
AddressClass ClassOf(const boost::asio::ip::address& address);

// The registry that named a URL.
struct Sender {
  kube::Url url;
  // That it answered from; unspecified behind a proxy.
  boost::asio::ip::address address;
};

// Whether the registry of an image may be asked at `address`: neither link-local nor reserved.
bool MayAsk(const boost::asio::ip::address& address);

// Whether `sender` may send us to `url`, a host of which is at `address`. Public addresses always,
// link-local and reserved ones never. Private and loopback ones for the registry's own host and
// port, at the address where it answered before; and for a registry whose name is an address, at
// that address (loopback: any) whatever the port.
bool MaySendTo(const kube::Url& url, const boost::asio::ip::address& address, const Sender& sender);

}  // namespace inspection
