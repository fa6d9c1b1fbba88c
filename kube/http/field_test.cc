// SPDX-License-Identifier: Apache-2.0
#include "kube/http/field.h"

#include <gtest/gtest.h>

#include <string>

namespace kube {
namespace {

TEST(FieldTest, ATokenHasOnlyTheCharactersOfTheStandard) {
  const std::string kAll =
      "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  EXPECT_TRUE(IsToken(kAll));
  EXPECT_FALSE(IsToken(""));
  for (int c = 0; c < 256; ++c) {
    char character = static_cast<char>(c);
    EXPECT_EQ(IsTokenChar(character), kAll.find(character) != std::string::npos) << c;
    EXPECT_EQ(IsToken(std::string("a") + character + "b"), IsTokenChar(character)) << c;
  }
}

TEST(FieldTest, AValueHasNoControlCharacters) {
  EXPECT_TRUE(IsFieldValue(""));
  for (int c = 0; c < 256; ++c) {
    std::string text = std::string("a") + static_cast<char>(c) + "b";
    EXPECT_EQ(IsFieldValue(text), c == '\t' || (c >= 0x20 && c != 0x7f)) << c;
  }
}

}  // namespace
}  // namespace kube
