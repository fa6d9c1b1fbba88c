// SPDX-License-Identifier: Apache-2.0
// OperandCertificate: the serving certificate of a webhook in the operator's namespace, by the
// cluster's authority. It is issued and renewed by Ensure(), which a reconciler calls each time;
// what is not due makes no request.
//
//   OperandCertificate certificate(client, clock, options, {.name = "pod-placement-x-web-hook",
//       .configuration = {kube::kMutatingWebhookConfigurations, "x"}});
//   Result<> ensured = co_await certificate.Ensure(log);
//   Configure(certificate.ca_bundle_pem());
//
// Thread: the client's.
#pragma once

#include <chrono>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/options.h"

namespace operator_ {

struct OperandCertificateOptions {
  // The name of the operand, its Service and the Secret.
  std::string name;
  // The webhook configuration with the CA bundle.
  BundleLocation configuration;
  // CertificateRequest::token_key.
  std::string token_key = {};
  // Between two checks, and while another certificate follows.
  std::chrono::milliseconds check{60'000};
  std::chrono::milliseconds recheck{10'000};
};

class OperandCertificate {
 public:
  // `client` and `clock` outlive it.
  OperandCertificate(kube::Client& client, kube::Clock& clock, const OperandOptions& operands,
                     OperandCertificateOptions options);

  // Errors: those of EnsureCertificate(). `log`: Request::log.
  kube::Async<> Ensure(const std::string& log);
  // The operand is removed: the next Ensure() checks.
  void Forget() { ca_bundle_pem_.clear(); }

  // The authorities that the API server has to trust, as of the last Ensure().
  const std::string& ca_bundle_pem() const { return ca_bundle_pem_; }
  // The token in the Secret, as of the last Ensure(): never log it.
  const std::string& token() const { return token_; }
  // Another certificate follows once the API server trusts it.
  bool pending() const { return pending_; }

 private:
  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  std::chrono::seconds validity_;
  OperandCertificateOptions options_;
  std::string ca_bundle_pem_;
  std::string token_;
  bool pending_ = false;
  kube::TimePoint checked_;
};

}  // namespace operator_
