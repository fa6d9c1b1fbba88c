// SPDX-License-Identifier: Apache-2.0
// What BoringSSL has and OpenSSL has not, as far as this project uses it.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bssl {
namespace internal {

inline void Free(ASN1_TIME* time) { ASN1_TIME_free(time); }
inline void Free(BIGNUM* number) { BN_free(number); }
inline void Free(BIO* bio) { BIO_free(bio); }
inline void Free(ECDSA_SIG* signature) { ECDSA_SIG_free(signature); }
inline void Free(EC_KEY* key) { EC_KEY_free(key); }
inline void Free(EVP_MD_CTX* context) { EVP_MD_CTX_free(context); }
inline void Free(EVP_PKEY* key) { EVP_PKEY_free(key); }
inline void Free(GENERAL_NAMES* names) { GENERAL_NAMES_free(names); }
inline void Free(SSL* ssl) { SSL_free(ssl); }
inline void Free(SSL_SESSION* session) { SSL_SESSION_free(session); }
inline void Free(X509* certificate) { X509_free(certificate); }
inline void Free(X509_EXTENSION* extension) { X509_EXTENSION_free(extension); }
inline void Free(X509_STORE* store) { X509_STORE_free(store); }

struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace internal

template <class T>
using UniquePtr = std::unique_ptr<T, internal::Deleter>;

class ScopedEVP_MD_CTX {
 public:
  EVP_MD_CTX* get() { return context_.get(); }

 private:
  UniquePtr<EVP_MD_CTX> context_{EVP_MD_CTX_new()};
};

}  // namespace bssl

inline int BIO_mem_contents(BIO* bio, const uint8_t** contents, size_t* size) {
  char* data = nullptr;
  long length = BIO_get_mem_data(bio, &data);
  if (data == nullptr || length < 0) return 0;
  *contents = reinterpret_cast<const uint8_t*>(data);
  *size = static_cast<size_t>(length);
  return 1;
}

inline int BN_bn2bin_padded(uint8_t* out, size_t size, const BIGNUM* number) {
  return BN_bn2binpad(number, out, static_cast<int>(size)) < 0 ? 0 : 1;
}

inline ECDSA_SIG* ECDSA_SIG_from_bytes(const uint8_t* der, size_t size) {
  return d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
}
