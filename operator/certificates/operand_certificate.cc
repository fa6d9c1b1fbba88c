// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/operand_certificate.h"

#include <utility>

#include "operator/objects/operand.h"

namespace operator_ {

OperandCertificate::OperandCertificate(kube::Client& client, kube::Clock& clock,
                                       const OperandOptions& operands,
                                       OperandCertificateOptions options)
    : client_(client),
      clock_(clock),
      ns_(operands.ns),
      validity_(operands.certificate_validity),
      options_(std::move(options)) {}

kube::Async<> OperandCertificate::Ensure(const std::string& log) {
  kube::TimePoint now = clock_.Now();
  std::chrono::milliseconds every = pending_ ? options_.recheck : options_.check;
  if (!ca_bundle_pem_.empty() && now < checked_ + every) co_return kube::Ok();
  CertificateRequest request{
      .log = log,
      .authority = {ns_, std::string(kClusterAuthorityName)},
      .serving = {ns_, options_.name},
      .dns_names = ServingNames(options_.name, ns_),
      .validity = validity_,
      .labels = {},
      .bundles = {options_.configuration},
      .publish_authorities = true,
      .token_key = options_.token_key,
  };
  kube::Result<IssuedCertificate> issued =
      co_await EnsureCertificate(client_, clock_, std::move(request));
  if (!issued) co_return issued.error();
  ca_bundle_pem_ = std::move(issued->ca_bundle_pem);
  token_ = std::move(issued->token);
  pending_ = issued->pending;
  checked_ = now;
  co_return kube::Ok();
}

}  // namespace operator_
