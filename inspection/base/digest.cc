// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

namespace inspection {
namespace {

std::string Hex(const uint8_t* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

std::string Sha256Digest(std::string_view content) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(content.data()), content.size(), hash);
  return "sha256:" + Hex(hash, sizeof hash);
}

kube::Result<void> VerifyDigest(std::string_view wanted, std::string_view content) {
  DigestVerifier verifier{std::string(wanted)};
  verifier.Add(content);
  return verifier.Verify();
}

struct DigestVerifier::State {
  ~State() { EVP_MD_CTX_free(context); }
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  std::string prefix;
};

DigestVerifier::DigestVerifier(std::string wanted) : wanted_(std::move(wanted)) {
  const bool is_sha256 = wanted_.starts_with("sha256:");
  if (!is_sha256 && !wanted_.starts_with("sha512:")) return;
  state_ = std::make_unique<State>();
  state_->prefix = wanted_.substr(0, wanted_.find(':') + 1);
  EVP_DigestInit_ex(state_->context, is_sha256 ? EVP_sha256() : EVP_sha512(), nullptr);
}
DigestVerifier::~DigestVerifier() = default;

void DigestVerifier::Add(std::string_view piece) {
  if (state_ != nullptr) EVP_DigestUpdate(state_->context, piece.data(), piece.size());
}

kube::Result<void> DigestVerifier::Verify() {
  if (state_ == nullptr) return kube::Error::Invalid("unknown digest algorithm");
  uint8_t hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, hash, &size);
  const std::string got = state_->prefix + Hex(hash, size);
  if (got != wanted_) return kube::Error::Invalid("content is " + got + ", not " + wanted_);
  return kube::Ok();
}

}  // namespace inspection
