// SPDX-License-Identifier: Apache-2.0
#include "kube/base/percent.h"

#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace kube {
namespace {

TEST(PercentTest, EncodesReservedCharacters) {
  EXPECT_EQ(PercentEncode("az-AZ_09.~"), "az-AZ_09.~");
  EXPECT_EQ(PercentEncode("a b/c?d=e&f%"), "a%20b%2Fc%3Fd%3De%26f%25");
  EXPECT_EQ(PercentEncode(std::string("\0\n\xff", 3)), "%00%0A%FF");
}

TEST(PercentTest, SurvivesTheRoundTrip) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  Result<std::string> decoded = PercentDecode(PercentEncode(all));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(*decoded, all);
  decoded = PercentDecode("%4a%4A");
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(*decoded, "JJ");
}

TEST(PercentTest, RefusesMalformedEscapes) {
  for (const char* broken : {"%", "%4", "a%", "%4g", "%-1", "%%41"}) {
    EXPECT_THAT(PercentDecode(broken), FailsWith(Code::kInvalid)) << broken;
  }
}

}  // namespace
}  // namespace kube
