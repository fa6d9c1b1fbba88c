// SPDX-License-Identifier: Apache-2.0
// Both libraries, BoringSSL and OpenSSL behind its names, have the same SipHash-2-4.
#include <gtest/gtest.h>
#include <openssl/siphash.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace {

// The example of the paper that describes SipHash, appendix A.
TEST(SipHashTest, HasTheResultOfItsPaper) {
  const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::vector<uint8_t> message(15);
  std::iota(message.begin(), message.end(), 0);
  EXPECT_EQ(SIPHASH_24(key, message.data(), message.size()), 0xa129ca6149be45e5);
}

}  // namespace
