// SPDX-License-Identifier: Apache-2.0
#include "image-facts/tool/signed_text.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <cstdint>

#include "kube/base/base64.h"

namespace image_facts {
namespace {

using kube::Error;
using kube::Result;

constexpr std::string_view kHeader = "image-facts v1 ed25519 ";
constexpr size_t kSignature = 64;
constexpr size_t kMaxHeader = 256;

const uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

bssl::UniquePtr<BIO> Open(std::string_view pem) {
  return bssl::UniquePtr<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

bool IsEd25519(const bssl::UniquePtr<EVP_PKEY>& key) {
  return key != nullptr && EVP_PKEY_id(key.get()) == EVP_PKEY_ED25519;
}

}  // namespace

Result<std::string> Sign(std::string_view text, std::string_view private_key) {
  bssl::UniquePtr<BIO> bio = Open(private_key);
  // An empty passphrase: otherwise an encrypted key would prompt on the terminal.
  auto no_passphrase = [](char*, int, int, void*) { return 0; };
  bssl::UniquePtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!IsEd25519(key)) {
    return Error::Invalid(
        "not an Ed25519 key without a passphrase: openssl genpkey -algorithm ed25519 makes one");
  }
  std::array<uint8_t, kSignature> signature{};
  size_t size = signature.size();
  bssl::ScopedEVP_MD_CTX context;
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, Bytes(text), text.size()) != 1)
    return Error::Internal("cannot sign");
  std::string_view bytes(reinterpret_cast<const char*>(signature.data()), size);
  return std::string(kHeader) + kube::Base64Encode(bytes) + "\n" + std::string(text);
}

Result<std::string> Verify(std::string_view file, std::string_view public_key) {
  bssl::UniquePtr<BIO> bio = Open(public_key);
  bssl::UniquePtr<EVP_PKEY> key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  if (!IsEd25519(key)) return Error::Invalid("the key is not an Ed25519 public key in PEM");
  size_t end = file.substr(0, kMaxHeader).find('\n');
  if (!file.starts_with(kHeader) || end == std::string_view::npos)
    return Error::Invalid("the file does not begin with \"" + std::string(kHeader) + "\"");
  Result<std::string> signature =
      kube::Base64Decode(file.substr(kHeader.size(), end - kHeader.size()));
  if (!signature || signature->size() != kSignature)
    return Error::Invalid("the first line has no signature");
  std::string_view text = file.substr(end + 1);
  bssl::ScopedEVP_MD_CTX context;
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestVerify(context.get(), Bytes(*signature), signature->size(), Bytes(text),
                       text.size()) != 1)
    return Error::Invalid("the file was not signed with this key, or was changed");
  return std::string(text);
}

}  // namespace image_facts
