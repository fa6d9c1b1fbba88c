// SPDX-License-Identifier: Apache-2.0
#include "kube/crypto/secret_token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <cstdint>

namespace kube {
namespace {

constexpr size_t kBytes = 32;
constexpr char kDigits[] = "0123456789abcdef";

}  // namespace

Result<std::string> NewSecretToken() {
  uint8_t bytes[kBytes];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return Error::Internal("no random numbers");
  std::string token;
  for (uint8_t byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

bool IsSecretToken(std::string_view text) {
  return text.size() == 2 * kBytes && text.find_first_not_of(kDigits) == std::string_view::npos;
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace kube
