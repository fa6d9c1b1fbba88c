// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 by OpenSSL's EVP_MAC, under the name that BoringSSL has for it.
#pragma once

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

inline uint64_t SIPHASH_24(const uint64_t key[2], const uint8_t* input, size_t input_len) {
  // The algorithm reads and writes words with the lowest byte first.
  uint8_t key_bytes[16], hash[8];
  for (size_t i = 0; i < sizeof key_bytes; ++i)
    key_bytes[i] = static_cast<uint8_t>(key[i / 8] >> (8 * (i % 8)));
  static EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_SIPHASH, nullptr);
  size_t size = sizeof hash, written = 0;
  OSSL_PARAM options[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                          OSSL_PARAM_construct_end()};
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(algorithm);
  // It fails only without memory.
  if (context == nullptr || EVP_MAC_init(context, key_bytes, sizeof key_bytes, options) != 1 ||
      EVP_MAC_update(context, input, input_len) != 1 ||
      EVP_MAC_final(context, hash, &written, sizeof hash) != 1 || written != sizeof hash)
    std::abort();
  EVP_MAC_CTX_free(context);
  uint64_t result = 0;
  for (size_t i = 0; i < sizeof hash; ++i) result |= uint64_t{hash[i]} << (8 * i);
  return result;
}
