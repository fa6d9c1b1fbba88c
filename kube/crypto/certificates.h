// SPDX-License-Identifier: Apache-2.0
// Certificates: what the operator needs to run TLS between the API server and our webhooks without
// any other issuer. ECDSA P-256 keys, PEM in and out; private keys are PKCS #8 and are never
// logged.
//
//   Result<KeyPair> ca = NewCertificateAuthority("pod-placement-shard-web", 10 * 365 * 24h, clock);
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

// A self-signed authority that can sign servers, though no further authorities. X.509 ends a common
// name at 64 characters: a longer one is cut. Valid from five minutes ago, as clocks differ.
Result<KeyPair> NewCertificateAuthority(std::string_view common_name, std::chrono::seconds validity,
                                        Clock& clock);

// A server's certificate for `dns_names` (IP addresses are accepted as well), signed by `ca`. It
// never outlives the CA. Errors: kInvalid if a name is none, or `ca` is not a pair of certificate
// and key.
Result<KeyPair> NewServingCertificate(const KeyPair& ca, const std::vector<std::string>& dns_names,
                                      std::chrono::seconds validity, Clock& clock);

// When the first certificate in `pem` ends. kInvalid if there is none.
Result<WallTime> NotAfter(std::string_view pem);

// The DNS names and IP addresses of the first certificate in `pem`, as NewServingCertificate() took
// them.
Result<std::vector<std::string>> DnsNames(std::string_view pem);

// True if the first certificate in `pem` bears the signature of the first one in `ca_pem`. Says
// nothing about time.
bool SignedBy(std::string_view pem, std::string_view ca_pem);

// True if the private key belongs to the first certificate.
bool IsPair(const KeyPair& pair);

}  // namespace kube
