// SPDX-License-Identifier: Apache-2.0
// AddressPolicy: which addresses the inspector may connect to. Pods name registries, and registries
// name redirect targets and token servers; neither may use the cluster controller to reach what
// only the cluster controller can reach (metadata services, the cluster's own network). The owner
// of a name controls its DNS records, so they decide nothing: neither in which network a registry
// is, nor that a name still means the same machine as a moment ago.
#pragma once

#include <boost/asio/ip/address.hpp>

#include "kube/http/url.h"

namespace inspection {

enum class AddressClass {
  kPublic,
  kPrivate,  // RFC 1918, RFC 6598 (100.64/10), fc00::/7
  kLoopback,
  kLinkLocal,  // 169.254/16, fe80::/10, and the metadata services of clouds at other addresses
  kReserved,   // unspecified, multicast, broadcast, 240/4
};

// IPv4 inside IPv6 (mapped, NAT64, 6to4) has the class of the IPv4 address.
AddressClass ClassOf(const boost::asio::ip::address& address);

// The registry that named a URL, by a redirect or as its token server.
struct Referrer {
  kube::Url url;
  // The address that the registry answered from; unspecified behind a proxy.
  boost::asio::ip::address address;
};

// Whether the registry of an image may be at `address`: neither link-local nor reserved.
bool MayBeRegistry(const boost::asio::ip::address& address);

// Whether `referrer` may name `url`, whose host is at `address`. Public addresses always,
// link-local and reserved ones never. Private and loopback ones for the registry's own host and
// port, at the address where it answered before; and for a registry whose name is an address, at
// that address (loopback: any) with any port.
bool MayRefer(const Referrer& referrer, const kube::Url& url,
              const boost::asio::ip::address& address);

}  // namespace inspection
