// SPDX-License-Identifier: Apache-2.0
// OwnCertificate: the certificate of the operator's own webhooks, from its Secret into the files
// that its server reads. Every replica has one; whichever comes first makes the Secret. A new
// authority is in the bundles of the API server before a certificate of it is in the Secret (see
// certificates.h), so that all replicas can follow the Secret. Thread: the client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/crypto/certificates.h"

namespace operator_ {

class OwnCertificate {
 public:
  // `ns`: the operator's; `directory` is made if it is not there, and must be for this process
  // alone.
  OwnCertificate(kube::Client& client, kube::Clock& clock, std::string ns, std::string directory);

  // Makes or renews the certificate if it is time to, and writes the files if they differ.
  // Errors: the API server's; kInternal if a file cannot be written.
  kube::Async<> Refresh();
  // Refreshes every 20 s until cancelled; failures are logged and tried again.
  boost::asio::awaitable<void> Run();

  std::string certificate_file() const { return directory_ + "/tls.crt"; }
  std::string key_file() const { return directory_ + "/tls.key"; }
  // What the API server shall trust; empty before the first Refresh().
  const std::string& ca_bundle_pem() const { return ca_bundle_pem_; }

 private:
  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  std::string directory_;
  std::string ca_bundle_pem_;
  // As it is in the files.
  kube::KeyPair served_;
};

}  // namespace operator_
