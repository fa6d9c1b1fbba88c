// SPDX-License-Identifier: Apache-2.0
// Provider: certificates of the cluster's components from cert-manager or from OpenShift's
// service-ca, instead of the operator's own (spec.certificates).
//
// The provider writes a Secret of its own for each Service, in the operator's namespace, where no
// tenant can write. Components serve a usable certificate from there as soon as the API server
// trusts its authorities (certificates.h), so a provider that fails, or a change of the provider,
// costs no admission call. Namespaces with a shard keep certificates of the operator: a provider's
// authority signs for many namespaces, so one that a namespace trusts could be impersonated by
// others (I6). Thread: the client's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/status/problem.h"

namespace operator_ {

// In spec.certificates.provider.
inline constexpr std::string_view kCertManager = "CertManager";
inline constexpr std::string_view kServiceCa = "ServiceCA";

inline constexpr kube::Resource kCertManagerCertificates{"cert-manager.io", "v1", "certificates",
                                                         "Certificate"};
// The ConfigMap of the operator's namespace with service-ca's authorities, and its key.
inline constexpr std::string_view kServiceCaConfigMap = "service-ca";
inline constexpr std::string_view kServiceCaKey = "service-ca.crt";

// True if `certificates` asks for certificates that the operator does not issue.
bool ByProvider(const std::optional<api::Certificates>& certificates);

// The Secret in which `provider` keeps the certificate of a Service; not the one that is mounted.
std::string ProvidedSecretName(std::string_view provider, std::string_view service);

// The request to cert-manager: a certificate for all names of a Service.
kube::Json CertManagerCertificate(const api::Certificates& certificates, std::string_view service,
                                  const OperandOptions& options);

// Asks service-ca for a certificate of a Service that the operator applies.
void RequestFromServiceCa(kube::Json& service);

// A provider's certificate, or why it cannot be used.
struct ProvidedCertificate {
  Provided content;
  std::string problem;

  std::optional<Provided> usable() const {
    return problem.empty() ? std::optional<Provided>(content) : std::nullopt;
  }
};

// Reads what the provider has issued for a Service of namespace `ns`. Errors: the API server's.
kube::Async<ProvidedCertificate> ReadProvided(kube::Client& client, kube::Clock& clock,
                                              api::Certificates certificates, std::string ns,
                                              std::string service);

// The provider's certificates of all Services of the cluster's components.
struct ProviderState {
  std::map<std::string, Provided, std::less<>> usable;  // by Service
  // Why one of them cannot be used, with a remedy.
  std::optional<Problem> problem;
};

class CertificateProvider {
 public:
  // Everything but `options` outlives this.
  CertificateProvider(kube::Client& client, kube::Clock& clock, OperandStore& store,
                      OperandOptions options);

  // Asks the provider for certificates, and reads them: for all components, or without the webhook.
  // `log`, here and below: Request::log.
  kube::Async<ProviderState> Provide(api::Certificates certificates, bool webhook,
                                     const std::string& log);
  // Deletes what Provide() has asked cert-manager for, with its Secrets: all, or what is for one
  // Service.
  kube::Async<> WithdrawFromCertManager(const std::string& log);
  kube::Async<> WithdrawFromCertManager(std::string_view service, const std::string& log);

 private:
  // Why the Certificates cannot be applied.
  kube::Async<std::optional<Problem>> RequestFromCertManager(api::Certificates certificates,
                                                             bool webhook, const std::string& log);
  // The message of the Certificate's condition Ready; "" if there is none.
  kube::Async<std::string> CertManagerSays(std::string_view service);

  kube::Client& client_;
  kube::Clock& clock_;
  OperandStore& store_;
  OperandOptions options_;
};

}  // namespace operator_
