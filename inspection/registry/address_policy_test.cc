// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/address_policy.h"

#include <gtest/gtest.h>

namespace inspection {
namespace {

TEST(AddressPolicyTest, KnowsTheClassesInEveryNotation) {
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

TEST(AddressPolicyTest, ARegistrySendsOnlyWhereItCouldBeItself) {
  using enum AddressClass;
  EXPECT_TRUE(MaySendTo(kPublic, {kPublic}));
  EXPECT_TRUE(MaySendTo(kPublic, {kPrivate}));
  EXPECT_TRUE(MaySendTo(kPrivate, {kPublic, kPrivate}));
  EXPECT_FALSE(MaySendTo(kPrivate, {kPublic}));
  EXPECT_FALSE(MaySendTo(kLinkLocal, {kPrivate}));
  EXPECT_FALSE(MaySendTo(kLoopback, {kPrivate}));
  EXPECT_FALSE(MaySendTo(kReserved, {kReserved}));
}

}  // namespace
}  // namespace inspection
