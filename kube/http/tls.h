// SPDX-License-Identifier: Apache-2.0
// TLS for clients: what to trust, what to show, and the contexts made of it. BoringSSL itself stays
// in tls.cc.
//
// TLS 1.2 or newer; the peer's name must be among the certificate's alternative names (DNS or IP).
#pragma once

#include <memory>
#include <string>

#include "kube/base/async.h"

namespace boost::asio::ssl {
class context;
}
struct ssl_st;

namespace kube {

struct TlsOptions {
  // Certificates to trust, PEM. Empty: the system's, unless `insecure`.
  std::string ca_pem;
  // The client's certificate chain and key, PEM; both or neither.
  std::string cert_pem;
  std::string key_pem;
  // The name to ask for (SNI) and to check; empty: the host that is connected to.
  std::string server_name;
  // Takes any certificate from anybody.
  bool insecure = false;
  // Trusts the system's certificates beside ca_pem. They cost about 2 MB, once a process.
  bool system_roots = false;

  bool operator==(const TlsOptions&) const = default;
};

// One SSL_CTX with its last session, for connections to one origin. Thread: one.
class TlsContext {
 public:
  // kInvalid if a PEM does not parse or the key does not belong to the certificate.
  static Result<std::shared_ptr<TlsContext>> New(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  asio::ssl::context& native();
  // Before the handshake of `ssl`: names, what to check, and the session to resume.
  Result<void> Prepare(ssl_st* ssl, const std::string& host) const;
  // After a failed one: why the peer's certificate was not accepted; empty if that was not the
  // reason.
  static std::string VerifyFailure(const ssl_st* ssl);

 private:
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kube
