// SPDX-License-Identifier: Apache-2.0
// OwnCertificate: the certificate of the operator's own webhooks, copied from its Secret into the
// files that the server reads. Every replica has one; the first replica creates the Secret. The API
// server trusts a new authority before the Secret holds a certificate of it (certificates.h), so
// all replicas can follow the Secret. Each replica reads from the ClusterPodPlacementConfig which
// provider issues the certificate. Thread: the client's.
#pragma once

#include <optional>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/crypto/certificates.h"
#include "operator/certificates/certificates.h"

namespace operator_ {

// Instead of a directory, where no server reads files.
inline constexpr char kNoFiles[] = "";

class OwnCertificate {
 public:
  // `ns`: the operator's namespace. `directory` is created if needed, and is this process's alone.
  OwnCertificate(kube::Client& client, kube::Clock& clock, std::string ns, std::string directory,
                 std::chrono::seconds validity = kServingValidity);

  // Issues or renews the certificate if necessary, and writes the files if they differ.
  // Errors: the API server's; kInternal if a file cannot be written.
  kube::Async<> Refresh();
  // Calls Refresh() every 20 s, or several times between the renewal and the end of a certificate
  // of shorter validity, until cancelled; errors are logged.
  boost::asio::awaitable<void> Run();

  std::string certificate_file() const { return directory_ + "/tls.crt"; }
  std::string key_file() const { return directory_ + "/tls.key"; }
  // The content of the files.
  const kube::KeyPair& served() const { return served_; }
  // The authorities that the API server has to trust; empty before the first Refresh().
  const std::string& ca_bundle_pem() const { return ca_bundle_pem_; }
  // Resumes after the next change of ca_bundle_pem(). Errors: kCancelled.
  kube::Async<> WaitForNewBundle() { return new_bundle_.Wait(); }

 private:
  kube::Result<void> WriteFiles(const kube::KeyPair& pair) const;

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  std::string directory_;
  std::chrono::seconds validity_;
  // As the ClusterPodPlacementConfig was last read.
  std::optional<api::Certificates> certificates_;
  std::string ca_bundle_pem_;
  kube::Notifier new_bundle_;
  kube::KeyPair served_;
};

}  // namespace operator_
