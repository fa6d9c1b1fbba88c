// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/secret_path.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/mem.h>
#include <openssl/sha.h>

#include <cstdint>
#include <utility>

#include "ephemeral-containers/names.h"

namespace ephemeral {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

bool SameInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string SecretPath(std::string_view key_pem) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  unsigned size = sizeof hash;
  HMAC(EVP_sha256(), key_pem.data(), key_pem.size(),
       reinterpret_cast<const uint8_t*>(kWarningsPath.data()), kWarningsPath.size(), hash, &size);
  std::string path = std::string(kWarningsPath) + "/";
  for (uint8_t byte : hash) {
    path += kDigits[byte >> 4];
    path += kDigits[byte & 15];
  }
  return path;
}

bool IsSecretPath(std::string_view path) {
  if (!path.starts_with(kWarningsPath)) return false;
  path.remove_prefix(kWarningsPath.size());
  return path.size() == 1 + 2 * SHA256_DIGEST_LENGTH && path[0] == '/' &&
         path.find_first_not_of(kDigits, 1) == std::string_view::npos;
}

void SecretPaths::SetKey(const std::string& key_pem) {
  if (key_pem == key_pem_) return;
  previous_ = std::exchange(path_, SecretPath(key_pem));
  previous_until_ = clock_.Now() + kPreviousPathFor;
  key_pem_ = key_pem;
}

bool SecretPaths::Admits(std::string_view path) {
  if (key_pem_.empty()) return false;
  if (clock_.Now() >= previous_until_) previous_.clear();
  bool current = SameInConstantTime(path, path_);
  bool previous = !previous_.empty() && SameInConstantTime(path, previous_);
  return current || previous;
}

}  // namespace ephemeral
