// SPDX-License-Identifier: Apache-2.0
#include "image-facts/tool/signed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <string>

#include "image-facts/tool/testing/key_pair.h"
#include "kube/testing/matchers.h"

namespace image_facts {
namespace {

using ::testing::HasSubstr;

class SignedTextTest : public testing::Test {
 protected:
  const KeyPair keys_ = NewKeyPair();
  const KeyPair others_ = NewKeyPair();
  const KeyPair ec_ = NewKeyPair(EVP_PKEY_EC);
};

TEST_F(SignedTextTest, VerifiesWhatItHasSigned) {
  for (const std::string& text : {std::string("facts\n"), std::string(), std::string("a\0b", 3)}) {
    auto file = Sign(text, keys_.private_key);
    ASSERT_THAT(file, kube::IsOk());
    EXPECT_TRUE(file->starts_with("image-facts v1 ed25519 "));
    auto verified = Verify(*file, keys_.public_key);
    ASSERT_THAT(verified, kube::IsOk());
    EXPECT_EQ(*verified, text);
  }
}

TEST_F(SignedTextTest, RefusesWhatWasChanged) {
  const std::string file = *Sign("{\"facts\": []}\n", keys_.private_key);
  for (size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(Verify(changed, keys_.public_key)) << i;
  }
  for (const std::string& changed :
       {file + " ", file.substr(0, file.size() - 1), std::string(),
        std::string("image-facts v1 ed25519 "), std::string("image-facts v1 ed25519 \n"),
        file.substr(file.find('\n') + 1)}) {
    EXPECT_FALSE(Verify(changed, keys_.public_key)) << changed;
  }
}

TEST_F(SignedTextTest, RefusesOtherKeys) {
  const std::string file = *Sign("facts", keys_.private_key);
  auto other = Verify(file, others_.public_key);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("was not signed with this key"));
  for (const std::string& key :
       {std::string(), std::string("no PEM"), keys_.private_key, ec_.public_key})
    EXPECT_FALSE(Verify(file, key));
  for (const std::string& key :
       {std::string(), std::string("no PEM"), keys_.public_key, ec_.private_key}) {
    auto signed_file = Sign("facts", key);
    ASSERT_FALSE(signed_file);
    EXPECT_EQ(signed_file.error().message().find("PRIVATE"), std::string::npos);
  }
}

}  // namespace
}  // namespace image_facts
