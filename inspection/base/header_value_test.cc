// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/header_value.h"

#include <gtest/gtest.h>

#include <string>

namespace inspection {
namespace {

TEST(HeaderValueTest, OnlyPrintableAsciiWithoutSpacesFits) {
  for (const char* fits : {"", "eyJhbGciOi.x-_=", "!~"}) EXPECT_TRUE(FitsIntoHeader(fits)) << fits;
  for (const std::string& not_one :
       {std::string("a b"), std::string("a\r\nX: y"), std::string("a\0b", 3), std::string("a\x7f"),
        std::string("\xc3\xa4")})
    EXPECT_FALSE(FitsIntoHeader(not_one)) << not_one;
}

}  // namespace
}  // namespace inspection
