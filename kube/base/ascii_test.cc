// SPDX-License-Identifier: Apache-2.0
#include "kube/base/ascii.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

TEST(AsciiTest, OnlyUpperCaseAsciiLettersChange) {
  EXPECT_EQ(AsciiLower("AZaz09@[`{ \xC3\x84"), "azaz09@[`{ \xC3\x84");
  EXPECT_EQ(AsciiLower(""), "");
}

}  // namespace
}  // namespace kube
