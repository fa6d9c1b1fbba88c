// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/provider.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Json;
using kube::Ok;
using kube::Result;
using kube::core::ConfigMap;
using kube::core::Secret;

constexpr std::array<std::string_view, 3> kServices = {api::kOperatorServiceName, api::kWebhookName,
                                                       api::kControllerName};
constexpr char kServiceCaAnnotation[] = "service.beta.openshift.io/serving-cert-secret-name";
// cert-manager refuses shorter ones.
constexpr std::chrono::seconds kShortestByCertManager = std::chrono::hours(1);
// Each webhook configuration has a copy of the authorities for each of its webhooks.
constexpr size_t kMaxAuthorityBytes = 64 * 1024;

std::string ValueOf(const auto& map, std::string_view key) {
  auto found = map.find(std::string(key));
  return found == map.end() ? "" : found->second;
}

// Why a server must not use `provided`; "" if it may.
std::string ProblemOf(const Provided& provided, const std::string& dns_name, kube::WallTime now) {
  if (!kube::IsPair(provided.serving)) return "has no certificate and key that belong together";
  if (provided.authorities_pem.empty()) return "has no authorities that clients could trust";
  if (provided.authorities_pem.size() > kMaxAuthorityBytes) return "has too many authorities";
  Result<kube::WallTime> end = kube::NotAfter(provided.serving.certificate_pem);
  if (!end || *end <= now + kProvidedRenewal) return "has a certificate that ends now";
  if (!kube::IsTrusted(provided.serving.certificate_pem, provided.authorities_pem, dns_name, now))
    return "has a certificate that its authorities have not signed for " + dns_name;
  return "";
}

Problem CannotApply(const kube::Error& error) {
  if (error.code() == kube::Code::kNotFound) {
    return {"CertManagerNotInstalled",
            "the API server has no Certificates of cert-manager. Remedy: install cert-manager, or "
            "remove spec.certificates"};
  }
  if (error.code() == kube::Code::kPermissionDenied) {
    return {"CertManagerRightsMissing",
            error.message() + ". Remedy: install the operator with the option cert-manager"};
  }
  return {"CertManagerNotReady",
          error.message() + ". Remedy: correct what the message names; cert-manager must run"};
}

}  // namespace

bool ByProvider(const std::optional<api::Certificates>& certificates) {
  return certificates &&
         (certificates->provider == kCertManager || certificates->provider == kServiceCa);
}

std::string ProvidedSecretName(std::string_view provider, std::string_view service) {
  return std::string(service) + (provider == kCertManager ? "-cert-manager" : "-service-ca");
}

Json CertManagerCertificate(const api::Certificates& certificates, std::string_view service,
                            const OperandOptions& options) {
  std::string name = ProvidedSecretName(kCertManager, service);
  const api::IssuerReference issuer = certificates.issuer.value_or(api::IssuerReference());
  std::chrono::seconds validity = std::max(options.certificate_validity, kShortestByCertManager);
  Json certificate = NewObject(kCertManagerCertificates, options.ns, name);
  certificate["spec"] = {
      {"secretName", name},
      {"dnsNames", ServingNames(service, options.ns)},
      {"duration", std::to_string(validity.count()) + "s"},
      {"usages", {"digital signature", "server auth"}},
      {"privateKey", {{"algorithm", "ECDSA"}, {"size", 256}, {"rotationPolicy", "Always"}}},
      {"issuerRef", {{"name", issuer.name}, {"kind", issuer.kind}, {"group", issuer.group}}}};
  return certificate;
}

void RequestFromServiceCa(Json& service) {
  service["metadata"]["annotations"][kServiceCaAnnotation] =
      ProvidedSecretName(kServiceCa, kube::StringAt(service, "metadata.name"));
}

Async<ProvidedCertificate> ReadProvided(kube::Client& client, kube::Clock& clock,
                                        api::Certificates certificates, std::string ns,
                                        std::string service) {
  ProvidedCertificate provided;
  kube::ObjectKey key{ns, ProvidedSecretName(certificates.provider, service)};
  Result<Secret> secret = co_await kube::Get<Secret>(client, key);
  if (IsNotFound(secret)) {
    provided.problem = "Secret " + key.ToString() + " does not exist";
    co_return provided;
  }
  if (!secret) co_return secret.error().Prefix("read Secret " + key.ToString());
  std::string authorities = ValueOf(secret->data(), "ca.crt");
  if (certificates.provider == kServiceCa) {
    kube::ObjectKey of_map{ns, std::string(kServiceCaConfigMap)};
    Result<ConfigMap> map = co_await kube::Get<ConfigMap>(client, of_map);
    if (!map && !IsNotFound(map))
      co_return map.error().Prefix("read ConfigMap " + of_map.ToString());
    authorities = map ? ValueOf(map->data(), kServiceCaKey) : "";
  }
  provided.content.serving = {ValueOf(secret->data(), "tls.crt"),
                              ValueOf(secret->data(), "tls.key")};
  for (const std::string& authority : kube::CertificatesIn(authorities))
    provided.content.authorities_pem += authority;
  std::string problem = ProblemOf(provided.content, ServiceDnsName(service, ns), clock.WallNow());
  if (!problem.empty()) provided.problem = "Secret " + key.ToString() + " " + problem;
  co_return provided;
}

CertificateProvider::CertificateProvider(kube::Client& client, kube::Clock& clock,
                                         OperandStore& store, OperandOptions options)
    : client_(client), clock_(clock), store_(store), options_(std::move(options)) {}

Async<ProviderState> CertificateProvider::Provide(api::Certificates certificates, bool webhook,
                                                  const std::string& log) {
  ProviderState state;
  if (certificates.provider == kCertManager) {
    Result<std::optional<Problem>> problem =
        co_await RequestFromCertManager(certificates, webhook, log);
    if (!problem) co_return problem.error();
    state.problem = std::move(*problem);
  }
  for (std::string_view service : kServices) {
    if (service == api::kWebhookName && !webhook) continue;
    Result<ProvidedCertificate> provided =
        co_await ReadProvided(client_, clock_, certificates, options_.ns, std::string(service));
    if (!provided) co_return provided.error();
    if (std::optional<Provided> usable = provided->usable()) {
      state.usable.emplace(service, std::move(*usable));
      continue;
    }
    if (state.problem) continue;
    state.problem = Problem{certificates.provider + "NotReady", std::move(provided->problem)};
    if (certificates.provider == kServiceCa) {
      state.problem->message +=
          ". Remedy: install the operator with the option openshift; the Service's annotations "
          "tell errors of service-ca";
      continue;
    }
    Result<std::string> says = co_await CertManagerSays(service);
    if (!says) co_return says.error();
    if (!says->empty()) state.problem->message += ": " + *says;
    state.problem->message +=
        ". Remedy: check the issuer that issuerRef names, and the Certificate of the same name; "
        "the issuer must write ca.crt";
  }
  co_return state;
}

Async<std::optional<Problem>> CertificateProvider::RequestFromCertManager(
    api::Certificates certificates, bool webhook, const std::string& log) {
  for (std::string_view service : kServices) {
    if (service == api::kWebhookName && !webhook) continue;
    DesiredObject certificate{kCertManagerCertificates,
                              CertManagerCertificate(certificates, service, options_)};
    Result<> applied = co_await store_.Ensure(std::move(certificate), log);
    if (FailedWith(applied, kube::Code::kCancelled)) co_return applied.error();
    if (!applied) co_return CannotApply(applied.error());
  }
  co_return std::nullopt;
}

Async<std::string> CertificateProvider::CertManagerSays(std::string_view service) {
  kube::ObjectKey key{options_.ns, ProvidedSecretName(kCertManager, service)};
  Result<kube::Unstructured> found =
      co_await kube::GetObject(client_, kCertManagerCertificates, key);
  if (!found) co_return std::string();
  const Json* ready = kube::ConditionOf(found->body(), "Ready");
  co_return ready == nullptr ? std::string() : kube::StringAt(*ready, "message");
}

Async<> CertificateProvider::WithdrawFromCertManager(const std::string& log) {
  for (std::string_view service : kServices) {
    Result<> withdrawn = co_await WithdrawFromCertManager(service, log);
    if (!withdrawn) co_return withdrawn.error();
  }
  co_return Ok();
}

Async<> CertificateProvider::WithdrawFromCertManager(std::string_view service,
                                                     const std::string& log) {
  kube::ObjectKey key{options_.ns, ProvidedSecretName(kCertManager, service)};
  Result<> removed = co_await store_.Remove(kCertManagerCertificates, key, log);
  // Without the permission there may be none; the teardown must not wait for it.
  if (!removed && !FailedWith(removed, kube::Code::kPermissionDenied)) co_return removed.error();
  LOG_IF(WARNING, !removed) << log << " " << removed.error();
  co_return co_await store_.Remove(kube::kSecrets, std::move(key), log);
}

}  // namespace operator_
