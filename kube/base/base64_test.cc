// SPDX-License-Identifier: Apache-2.0
#include "kube/base/base64.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

using namespace std::string_view_literals;

TEST(Base64Test, MatchesTheVectorsOfRfc4648) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\0"sv, "//4A"},
  };
  for (auto& [bytes, text] : kRows) {
    EXPECT_EQ(Base64Encode(bytes), text);
    EXPECT_EQ(*Base64Decode(text), bytes);
  }
}

TEST(Base64Test, AcceptsLineBreaksAndMissingPadding) {
  EXPECT_EQ(*Base64Decode("Zm9v\nYg\r\n"), "foob");
  EXPECT_EQ(*Base64Decode("Zg"), "f");
}

TEST(Base64Test, RefusesOtherCharacters) {
  for (std::string_view text : {"Zm9*", "Zg==Zg==", "Z", "Zm9v_w==", "\x80"}) {
    EXPECT_FALSE(Base64Decode(text)) << text;
  }
}

}  // namespace
}  // namespace kube
