// SPDX-License-Identifier: Apache-2.0
#include "kube/crypto/certificates.h"

#include <openssl/base.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec_key.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/nid.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <memory>

namespace kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kClockSkew = 5min;
constexpr size_t kMaxCommonName = 64;
constexpr size_t kMaxCertificates = 100;

// BoringSSL's error queue is per thread: later callers must not see errors of this file.
struct ErrorQueueGuard {
  ~ErrorQueueGuard() { ERR_clear_error(); }
};

template <class T>
using Owned = bssl::UniquePtr<T>;

Owned<X509> ReadCertificate(std::string_view pem) {
  Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Owned<X509>(bio == nullptr ? nullptr
                                    : PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

std::vector<Owned<X509>> ReadCertificates(std::string_view pem) {
  std::vector<Owned<X509>> certificates;
  Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  while (bio != nullptr && certificates.size() < kMaxCertificates) {
    Owned<X509> next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    certificates.push_back(std::move(next));
  }
  return certificates;
}

Owned<EVP_PKEY> ReadPrivateKey(std::string_view pem) {
  Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // An empty passphrase: otherwise an encrypted key would prompt on the terminal.
  auto no_passphrase = [](char*, int, int, void*) { return 0; };
  return Owned<EVP_PKEY>(bio == nullptr
                             ? nullptr
                             : PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
}

std::string Contents(BIO* bio) {
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (BIO_mem_contents(bio, &data, &size) != 1) return "";
  return std::string(reinterpret_cast<const char*>(data), size);
}

Owned<EVP_PKEY> NewKey() {
  Owned<EC_KEY> ec(EC_KEY_new_by_curve_name(NID_X9_62_prime256v1));
  Owned<EVP_PKEY> key(EVP_PKEY_new());
  if (ec == nullptr || key == nullptr) return nullptr;
  if (EC_KEY_generate_key(ec.get()) != 1 || EVP_PKEY_set1_EC_KEY(key.get(), ec.get()) != 1)
    return nullptr;
  return key;
}

bool SetRandomSerial(X509* certificate) {
  Owned<BIGNUM> number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetCommonName(X509_NAME* name, std::string_view common_name) {
  common_name = common_name.substr(0, kMaxCommonName);
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const uint8_t*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

bool SetTime(ASN1_TIME* field, WallTime time) {
  return ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr;
}

// `value` is in OpenSSL's notation ("critical,CA:TRUE"). Names in it must be validated before.
bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Owned<X509_EXTENSION> extension(X509V3_EXT_nconf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Owned<X509> NewCertificate(EVP_PKEY* key, WallTime not_before, WallTime not_after) {
  Owned<X509> certificate(X509_new());
  if (certificate == nullptr || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !SetRandomSerial(certificate.get()) ||
      !SetTime(X509_getm_notBefore(certificate.get()), not_before) ||
      !SetTime(X509_getm_notAfter(certificate.get()), not_after) ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return nullptr;
  }
  return certificate;
}

Result<KeyPair> WritePair(X509* certificate, EVP_PKEY* key) {
  Owned<BIO> certificate_pem(BIO_new(BIO_s_mem()));
  Owned<BIO> key_pem(BIO_new(BIO_s_mem()));
  if (certificate_pem == nullptr || key_pem == nullptr ||
      PEM_write_bio_X509(certificate_pem.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_pem.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return Error::Internal("cannot write certificate");
  }
  return KeyPair{Contents(certificate_pem.get()), Contents(key_pem.get())};
}

bool IsAddress(const std::string& name) {
  boost::system::error_code ec;
  boost::asio::ip::make_address(name, ec);
  return !ec;
}

bool IsDnsName(const std::string& name) {
  auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '*';
  };
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), allowed);
}

WallTime TimeOf(const ASN1_TIME* time) {
  Owned<ASN1_TIME> epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (epoch == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1)
    return WallTime();
  return WallTime(std::chrono::seconds(int64_t{days} * 24 * 3600 + seconds));
}

}  // namespace

Result<KeyPair> NewCertificateAuthority(std::string_view common_name, std::chrono::seconds validity,
                                        Clock& clock) {
  ErrorQueueGuard guard;
  Error failed = Error::Internal("cannot make certificate authority " + std::string(common_name));
  Owned<EVP_PKEY> key = NewKey();
  if (key == nullptr) return failed;
  WallTime now = clock.WallNow();
  Owned<X509> certificate = NewCertificate(key.get(), now - kClockSkew, now + validity);
  if (certificate == nullptr) return failed;

  X509* x = certificate.get();
  bool made = SetCommonName(X509_get_subject_name(x), common_name) &&
              X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
              AddExtension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
              AddExtension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
              AddExtension(x, x, NID_subject_key_identifier, "hash") &&
              X509_sign(x, key.get(), EVP_sha256()) != 0;
  if (!made) return failed;
  return WritePair(x, key.get());
}

Result<KeyPair> NewServingCertificate(const KeyPair& ca, const std::vector<std::string>& dns_names,
                                      std::chrono::seconds validity, Clock& clock) {
  ErrorQueueGuard guard;
  std::string alternative_names;
  for (const std::string& name : dns_names) {
    bool address = IsAddress(name);
    if (!address && !IsDnsName(name))
      return Error::Invalid("not a DNS name: \"" + name.substr(0, 80) + "\"");
    if (!alternative_names.empty()) alternative_names += ",";
    alternative_names += (address ? "IP:" : "DNS:") + name;
  }
  if (dns_names.empty()) return Error::Invalid("a serving certificate needs a name");
  if (!IsPair(ca)) return Error::Invalid("the CA's certificate and private key are not a pair");
  Owned<X509> issuer = ReadCertificate(ca.certificate_pem);
  Owned<EVP_PKEY> issuer_key = ReadPrivateKey(ca.private_key_pem);

  Error failed = Error::Internal("cannot make serving certificate for " + dns_names.front());
  Owned<EVP_PKEY> key = NewKey();
  if (key == nullptr) return failed;
  WallTime now = clock.WallNow();
  WallTime not_after = std::min<WallTime>(now + validity, TimeOf(X509_get0_notAfter(issuer.get())));
  Owned<X509> certificate = NewCertificate(key.get(), now - kClockSkew, not_after);
  if (certificate == nullptr) return failed;

  X509* x = certificate.get();
  bool made = SetCommonName(X509_get_subject_name(x), dns_names.front()) &&
              X509_set_issuer_name(x, X509_get_subject_name(issuer.get())) == 1 &&
              AddExtension(x, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
              AddExtension(x, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
              AddExtension(x, issuer.get(), NID_ext_key_usage, "serverAuth") &&
              AddExtension(x, issuer.get(), NID_authority_key_identifier, "keyid") &&
              AddExtension(x, issuer.get(), NID_subject_alt_name, alternative_names) &&
              X509_sign(x, issuer_key.get(), EVP_sha256()) != 0;
  if (!made) return failed;
  return WritePair(x, key.get());
}

Result<WallTime> NotBefore(std::string_view pem) {
  ErrorQueueGuard guard;
  Owned<X509> certificate = ReadCertificate(pem);
  if (certificate == nullptr) return Error::Invalid("not a PEM certificate");
  return TimeOf(X509_get0_notBefore(certificate.get()));
}

Result<WallTime> NotAfter(std::string_view pem) {
  ErrorQueueGuard guard;
  Owned<X509> certificate = ReadCertificate(pem);
  if (certificate == nullptr) return Error::Invalid("not a PEM certificate");
  return TimeOf(X509_get0_notAfter(certificate.get()));
}

Result<std::vector<std::string>> DnsNames(std::string_view pem) {
  ErrorQueueGuard guard;
  Owned<X509> certificate = ReadCertificate(pem);
  if (certificate == nullptr) return Error::Invalid("not a PEM certificate");
  std::vector<std::string> names;
  Owned<GENERAL_NAMES> alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  // BoringSSL and OpenSSL count in different types.
  auto count = alternatives == nullptr ? 0 : sk_GENERAL_NAME_num(alternatives.get());
  for (decltype(count) i = 0; i < count; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const uint8_t* data = ASN1_STRING_get0_data(value);
    size_t size = ASN1_STRING_length(value);
    if (name->type == GEN_DNS) {
      names.emplace_back(reinterpret_cast<const char*>(data), size);
    } else if (size == 4) {
      boost::asio::ip::address_v4::bytes_type bytes;
      std::copy_n(data, size, bytes.begin());
      names.push_back(boost::asio::ip::address_v4(bytes).to_string());
    } else if (size == 16) {
      boost::asio::ip::address_v6::bytes_type bytes;
      std::copy_n(data, size, bytes.begin());
      names.push_back(boost::asio::ip::address_v6(bytes).to_string());
    }
  }
  return names;
}

bool SignedBy(std::string_view pem, std::string_view ca_pem) {
  ErrorQueueGuard guard;
  Owned<X509> certificate = ReadCertificate(pem);
  Owned<X509> issuer = ReadCertificate(ca_pem);
  if (certificate == nullptr || issuer == nullptr) return false;
  Owned<EVP_PKEY> key(X509_get_pubkey(issuer.get()));
  return key != nullptr && X509_check_issued(issuer.get(), certificate.get()) == X509_V_OK &&
         X509_verify(certificate.get(), key.get()) == 1;
}

bool IsTrusted(std::string_view pem, std::string_view authorities_pem, const std::string& dns_name,
               WallTime now) {
  ErrorQueueGuard guard;
  std::vector<Owned<X509>> chain = ReadCertificates(pem);
  std::vector<Owned<X509>> authorities = ReadCertificates(authorities_pem);
  Owned<X509_STORE> store(X509_STORE_new());
  if (chain.empty() || store == nullptr) return false;
  for (const Owned<X509>& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());

  std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> intermediates(
      sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> context(X509_STORE_CTX_new(),
                                                                     X509_STORE_CTX_free);
  if (intermediates == nullptr || context == nullptr) return false;
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(intermediates.get(), chain[i].get());
  if (X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), intermediates.get()) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER) != 1)
    return false;
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context.get());
  // A trusted certificate need not be self-signed.
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(rules, std::chrono::system_clock::to_time_t(now));
  return X509_VERIFY_PARAM_set1_host(rules, dns_name.c_str(), dns_name.size()) == 1 &&
         X509_verify_cert(context.get()) == 1;
}

std::vector<std::string> CertificatesIn(std::string_view pem) {
  ErrorQueueGuard guard;
  std::vector<std::string> each;
  for (const Owned<X509>& certificate : ReadCertificates(pem)) {
    Owned<BIO> bio(BIO_new(BIO_s_mem()));
    if (bio != nullptr && PEM_write_bio_X509(bio.get(), certificate.get()) == 1)
      each.push_back(Contents(bio.get()));
  }
  return each;
}

bool IsPair(const KeyPair& pair) {
  ErrorQueueGuard guard;
  Owned<X509> certificate = ReadCertificate(pair.certificate_pem);
  Owned<EVP_PKEY> key = ReadPrivateKey(pair.private_key_pem);
  return certificate != nullptr && key != nullptr &&
         X509_check_private_key(certificate.get(), key.get()) == 1;
}

}  // namespace kube
