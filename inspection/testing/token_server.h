// SPDX-License-Identifier: Apache-2.0
// TokenServer: gives tokens for pulling to user "u" with password "secret", signed as Debian's
// docker-registry wants them (JWT, ES256). On the test's own event loop.
#pragma once

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"

namespace inspection {

class TokenServer {
 public:
  // `certificate`: what it shows to clients; `signer`: what it signs tokens with.
  TokenServer(kube::Executor executor, kube::KeyPair certificate, kube::KeyPair signer);

  std::string url() const;

 private:
  std::unique_ptr<kube::ScriptedServer> server_;
};

}  // namespace inspection
