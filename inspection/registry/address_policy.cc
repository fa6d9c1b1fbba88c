// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/address_policy.h"

#include <algorithm>
#include <cstdint>

namespace inspection {
namespace {

namespace ip = boost::asio::ip;

AddressClass ClassOfV4(uint32_t address) {
  auto in = [address](uint32_t network, int bits) {
    return address >> (32 - bits) == network >> (32 - bits);
  };
  if (in(0x7f000000, 8)) return AddressClass::kLoopback;
  // 192.0.0/24 and 168.63.129.16: the metadata services of Oracle's cloud and of Azure.
  if (in(0xa9fe0000, 16) || in(0xc0000000, 24) || address == 0xa83f8110)
    return AddressClass::kLinkLocal;
  if (in(0x0a000000, 8) || in(0xac100000, 12) || in(0xc0a80000, 16) || in(0x64400000, 10)) {
    return AddressClass::kPrivate;
  }
  if (in(0x00000000, 8) || in(0xe0000000, 4) || in(0xf0000000, 4)) return AddressClass::kReserved;
  return AddressClass::kPublic;
}

uint32_t V4At(const ip::address_v6::bytes_type& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

}  // namespace

AddressClass ClassOf(const ip::address& address) {
  if (address.is_v4()) return ClassOfV4(address.to_v4().to_uint());
  ip::address_v6 v6 = address.to_v6();
  auto bytes = v6.to_bytes();
  if (v6.is_loopback()) return AddressClass::kLoopback;
  if (v6.is_v4_mapped()) return ClassOfV4(V4At(bytes, 12));
  if (v6.is_link_local()) return AddressClass::kLinkLocal;
  if ((bytes[0] & 0xfe) == 0xfc || v6.is_site_local()) return AddressClass::kPrivate;
  if (v6.is_multicast()) return AddressClass::kReserved;
  static constexpr uint8_t kNat64[] = {0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
  if (std::equal(std::begin(kNat64), std::end(kNat64), bytes.begin()))
    return ClassOfV4(V4At(bytes, 12));
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return ClassOfV4(V4At(bytes, 2));
  // ::, and the deprecated ::a.b.c.d.
  if (std::all_of(bytes.begin(), bytes.begin() + 12, [](uint8_t byte) { return byte == 0; })) {
    return AddressClass::kReserved;
  }
  return AddressClass::kPublic;
}

bool MayBeRegistry(const ip::address& address) {
  AddressClass target = ClassOf(address);
  return target != AddressClass::kLinkLocal && target != AddressClass::kReserved;
}

bool MayRefer(const Referrer& referrer, const kube::Url& url, const ip::address& address) {
  AddressClass target = ClassOf(address);
  if (target == AddressClass::kPublic) return true;
  if (!MayBeRegistry(address)) return false;
  boost::system::error_code not_literal;
  ip::address literal = ip::make_address(referrer.url.host, not_literal);
  bool loopback =
      not_literal ? referrer.url.host == "localhost" : ClassOf(literal) == AddressClass::kLoopback;
  if (loopback) return target == AddressClass::kLoopback;
  if (!not_literal) return address == literal;
  return referrer.url.host == url.host && referrer.url.port == url.port &&
         referrer.address == address;
}

}  // namespace inspection
