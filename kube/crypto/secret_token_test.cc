// SPDX-License-Identifier: Apache-2.0
#include "kube/crypto/secret_token.h"

#include <gtest/gtest.h>

#include <set>

namespace kube {
namespace {

TEST(SecretTokenTest, EachIsAnother) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    Result<std::string> token = NewSecretToken();
    ASSERT_TRUE(token) << token.error();
    EXPECT_TRUE(IsSecretToken(*token)) << *token;
    tokens.insert(*token);
  }
  EXPECT_EQ(tokens.size(), 100u);
}

TEST(SecretTokenTest, OtherTextsAreNone) {
  const std::string digits(63, '0');
  EXPECT_TRUE(IsSecretToken(digits + "f"));
  for (const std::string& other :
       {std::string(), std::string("token"), digits, digits + "00", digits + "A", digits + "g",
        digits + "/", digits + " ", digits + std::string(1, '\0')}) {
    EXPECT_FALSE(IsSecretToken(other)) << other;
  }
}

TEST(SecretTokenTest, ComparesAllBytes) {
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "bbc"));
  EXPECT_FALSE(SameSecret("abc", "ab"));
  EXPECT_FALSE(SameSecret("", "a"));
}

}  // namespace
}  // namespace kube
