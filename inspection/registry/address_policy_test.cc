// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/address_policy.h"

#include <gtest/gtest.h>

namespace inspection {
namespace {

boost::asio::ip::address At(const char* text) { return boost::asio::ip::make_address(text); }

TEST(AddressPolicyTest, ClassifiesAddressesInEveryNotation) {
  struct Row {
    const char* address;
    AddressClass wanted;
  };
  const Row rows[] = {
      {"8.8.8.8", AddressClass::kPublic},
      {"172.15.255.255", AddressClass::kPublic},
      {"172.32.0.0", AddressClass::kPublic},
      {"2606:4700::1", AddressClass::kPublic},
      {"10.1.2.3", AddressClass::kPrivate},
      {"172.16.0.1", AddressClass::kPrivate},
      {"172.31.255.255", AddressClass::kPrivate},
      {"192.168.0.1", AddressClass::kPrivate},
      {"100.64.0.1", AddressClass::kPrivate},
      {"fd00::1", AddressClass::kPrivate},
      {"127.0.0.2", AddressClass::kLoopback},
      {"::1", AddressClass::kLoopback},
      {"169.254.169.254", AddressClass::kLinkLocal},
      {"fe80::1", AddressClass::kLinkLocal},
      {"168.63.129.16", AddressClass::kLinkLocal},
      {"192.0.0.192", AddressClass::kLinkLocal},
      {"0.0.0.0", AddressClass::kReserved},
      {"255.255.255.255", AddressClass::kReserved},
      {"224.0.0.1", AddressClass::kReserved},
      {"ff02::1", AddressClass::kReserved},
      {"::", AddressClass::kReserved},
      {"::ffff:169.254.169.254", AddressClass::kLinkLocal},
      {"::ffff:8.8.8.8", AddressClass::kPublic},
      {"64:ff9b::a00:1", AddressClass::kPrivate},
      {"2002:7f00:1::", AddressClass::kLoopback},
      {"::7f00:1", AddressClass::kReserved},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ClassOf(boost::asio::ip::make_address(row.address)), row.wanted) << row.address;
  }
}

TEST(AddressPolicyTest, ARegistryMayHaveAnyAddressButMetadataServices) {
  for (const char* address : {"8.8.8.8", "10.0.0.1", "127.0.0.1", "::1", "fd00::1"})
    EXPECT_TRUE(MayBeRegistry(At(address)));
  for (const char* address :
       {"169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "0.0.0.0", "224.0.0.1"}) {
    EXPECT_FALSE(MayBeRegistry(At(address))) << address;
  }
}

TEST(AddressPolicyTest, ARegistryMayReferToPublicAddressesAndToItself) {
  struct Row {
    const char* registry;
    const char* from;  // the address of the registry
    const char* url;
    const char* to;  // the address of the URL's host
    bool wanted;
  };
  const Row rows[] = {
      {"https://r.io", "8.8.8.8", "https://cdn.io", "9.9.9.9", true},
      {"https://r.io", "10.0.0.1", "https://cdn.io", "9.9.9.9", true},
      {"https://r.io", "8.8.8.8", "https://cdn.io", "10.0.0.1", false},
      // An attacker controls the addresses of his names.
      {"https://r.io", "10.0.0.1", "https://cdn.io", "10.0.0.2", false},
      {"https://r.io", "10.0.0.1", "https://cdn.io", "10.0.0.1", false},
      {"https://r.io", "127.0.0.1", "https://cdn.io", "127.0.0.1", false},
      // Its own token server, unless the name has another address now.
      {"https://r.svc:5000", "10.0.0.1", "https://r.svc:5000/token", "10.0.0.1", true},
      {"https://r.svc:5000", "10.0.0.1", "https://r.svc:5000/token", "10.0.0.2", false},
      {"https://r.svc:5000", "8.8.8.8", "https://r.svc:5000/token", "10.0.0.2", false},
      {"https://r.svc:5000", "10.0.0.1", "https://r.svc:6443/token", "10.0.0.1", false},
      // A registry with an address as its name.
      {"http://10.0.0.1:5000", "10.0.0.1", "http://10.0.0.1:5001/token", "10.0.0.1", true},
      {"http://10.0.0.1:5000", "10.0.0.1", "http://10.0.0.2:5000/token", "10.0.0.2", false},
      {"http://127.0.0.1:5000", "127.0.0.1", "http://localhost:5001/token", "::1", true},
      {"http://localhost:5000", "127.0.0.1", "http://127.0.0.1:5001/token", "127.0.0.1", true},
      {"http://localhost:5000", "127.0.0.1", "http://10.0.0.1:5001/token", "10.0.0.1", false},
      // Never.
      {"http://169.254.169.254", "169.254.169.254", "http://169.254.169.254/x", "169.254.169.254",
       false},
      {"http://0.0.0.0:5000", "0.0.0.0", "http://0.0.0.0:5000/token", "0.0.0.0", false},
      {"http://r.io", "169.254.169.254", "http://r.io/x", "169.254.169.254", false},
  };
  for (const Row& row : rows) {
    Referrer referrer{*kube::Url::Parse(row.registry), At(row.from)};
    EXPECT_EQ(MayRefer(referrer, *kube::Url::Parse(row.url), At(row.to)), row.wanted)
        << row.registry << " at " << row.from << " to " << row.url << " at " << row.to;
  }
}

}  // namespace
}  // namespace inspection
