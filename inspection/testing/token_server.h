// SPDX-License-Identifier: Apache-2.0
// TokenServer: issues tokens for pulling to user "u" with password "secret", signed as
// DockerRegistry requires (JWT, ES256). On the test's event loop.
#pragma once

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"

namespace inspection {

class TokenServer {
 public:
  // `certificate`: for TLS. `signer`: for the signatures of tokens.
  TokenServer(kube::Executor executor, kube::KeyPair certificate, kube::KeyPair signer);

  std::string url() const;

 private:
  std::unique_ptr<kube::ScriptedServer> server_;
};

}  // namespace inspection
