// SPDX-License-Identifier: Apache-2.0
// A new pair of keys in PEM, for tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/nid.h>
#include <openssl/pem.h>

#include <cstdint>
#include <string>

namespace image_facts {

struct KeyPair {
  std::string private_key;
  std::string public_key;
};

inline std::string Contents(BIO* bio) {
  const uint8_t* data = nullptr;
  size_t size = 0;
  BIO_mem_contents(bio, &data, &size);
  return {reinterpret_cast<const char*>(data), size};
}

// `kind`: EVP_PKEY_ED25519, or EVP_PKEY_EC for one of another kind.
inline KeyPair NewKeyPair(int kind = EVP_PKEY_ED25519) {
  bssl::UniquePtr<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_id(kind, nullptr));
  EVP_PKEY* made = nullptr;
  EXPECT_EQ(EVP_PKEY_keygen_init(context.get()), 1);
  if (kind == EVP_PKEY_EC) {
    EXPECT_EQ(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context.get(), NID_X9_62_prime256v1), 1);
  }
  EXPECT_EQ(EVP_PKEY_keygen(context.get(), &made), 1);
  bssl::UniquePtr<EVP_PKEY> key(made);
  bssl::UniquePtr<BIO> private_key(BIO_new(BIO_s_mem())), public_key(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(private_key.get(), key.get(), nullptr, nullptr, 0,
                                          nullptr, nullptr),
            1);
  EXPECT_EQ(PEM_write_bio_PUBKEY(public_key.get(), key.get()), 1);
  return {Contents(private_key.get()), Contents(public_key.get())};
}

}  // namespace image_facts
