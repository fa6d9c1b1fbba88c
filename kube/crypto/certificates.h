// SPDX-License-Identifier: Apache-2.0
// Certificates: a minimal certificate authority for TLS between the API server and webhooks. ECDSA
// P-256 keys; PEM input and output; private keys are PKCS #8 and are never logged.
//
//   Result<KeyPair> ca = NewCertificateAuthority("my-authority", 10 * 365 * 24h, clock);
//   Result<KeyPair> serving = NewServingCertificate(*ca, {"webhook.web.svc"}, 365 * 24h, clock);
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/error.h"

namespace kube {

struct KeyPair {
  std::string certificate_pem;
  std::string private_key_pem;
};

// A self-signed authority that can sign server certificates, but no other authorities. A common
// name is cut to 64 characters, the limit of X.509. Valid from five minutes ago: clocks differ.
Result<KeyPair> NewCertificateAuthority(std::string_view common_name, std::chrono::seconds validity,
                                        Clock& clock);

// A serving certificate for `dns_names`, which may include IP addresses, signed by `ca`. It ends
// with the CA at the latest. Errors: kInvalid (malformed name, certificate and key of `ca` do not
// match).
Result<KeyPair> NewServingCertificate(const KeyPair& ca, const std::vector<std::string>& dns_names,
                                      std::chrono::seconds validity, Clock& clock);

// Begin and end of validity of the first certificate in `pem`. Errors: kInvalid (no certificate).
Result<WallTime> NotBefore(std::string_view pem);
Result<WallTime> NotAfter(std::string_view pem);

// The DNS names and IP addresses of the first certificate in `pem`.
Result<std::vector<std::string>> DnsNames(std::string_view pem);

// True if the first certificate in `ca_pem` signed the first one in `pem`. Ignores validity
// periods.
bool SignedBy(std::string_view pem, std::string_view ca_pem);

// True if a client that trusts the certificates in `authorities_pem` accepts the chain in `pem` at
// `now` from a server of this name, as the API server does.
bool IsTrusted(std::string_view pem, std::string_view authorities_pem, const std::string& dns_name,
               WallTime now);

// Each certificate in `pem` as PEM of its own, without anything between; at most 100.
std::vector<std::string> CertificatesIn(std::string_view pem);

// True if the private key matches the first certificate.
bool IsPair(const KeyPair& pair);

}  // namespace kube
