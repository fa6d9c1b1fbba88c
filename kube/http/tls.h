// SPDX-License-Identifier: Apache-2.0
// TLS for clients: trusted CAs, client certificate, server name, and the context made from them.
//
// TLS 1.2 or newer; the certificate must have the server's name among its subject alternative names
// (DNS or IP).
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
  // Trusted CA certificates, PEM. Empty: the system's, unless `insecure`.
  std::string ca_pem;
  // The client's certificate chain and key, PEM; both or neither.
  std::string cert_pem;
  std::string key_pem;
  // The name to send (SNI) and to verify; empty: the host of the connection.
  std::string server_name;
  // Accepts any certificate.
  bool insecure = false;
  // Trusts the system's CAs in addition to ca_pem. They take about 2 MB, once per process.
  bool system_roots = false;

  bool operator==(const TlsOptions&) const = default;
};

// One SSL_CTX with its last session, for connections to one origin. Not thread-safe.
class TlsContext {
 public:
  // kInvalid if a PEM does not parse or the key does not match the certificate.
  static Result<std::shared_ptr<TlsContext>> New(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  asio::ssl::context& native();
  // Prepares `ssl` for its handshake: server name, verification, and the session to resume.
  Result<void> Prepare(ssl_st* ssl, const std::string& host) const;
  // After a failed handshake: why the certificate was not accepted; empty if the failure had
  // another reason.
  static std::string VerifyFailure(const ssl_st* ssl);

 private:
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kube
