// SPDX-License-Identifier: Apache-2.0
// Certificates: each namespace that serves a webhook has an authority of its own, which issues the
// webhook's certificate.
//
// The authority's key is in a Secret of the operator's namespace and never leaves it; the webhook's
// namespace gets the serving certificate alone. So no tenant can sign certificates for another one
// (I6). Both are renewed well before they expire: a serving certificate after two thirds of its
// validity, an authority in the last of its ten years.
//
// A new authority signs nothing before the API server trusts it: first the returned bundle contains
// it, and the serving certificate follows only when the webhook configurations are seen with that
// bundle. The bundle keeps the previous authority, because the new certificate reaches the webhook
// with a delay. An authority whose Secret was lost is replaced the same way: the certificate in use
// stays trusted until a new one can be issued. A webhook without any serving certificate gets one
// at once. Secrets and webhook configurations alone decide; there is no state in memory. Thread:
// the client's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/crypto/certificates.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "operator/objects/options.h"

namespace operator_ {

inline constexpr std::chrono::hours kAuthorityValidity{10 * 365 * 24};
inline constexpr std::chrono::hours kAuthorityRenewal{365 * 24};  // before its end
// API servers see a new bundle within a moment of each other: a new authority signs nothing before
// this age.
inline constexpr std::chrono::seconds kAuthoritySettles{10};

// A provider's certificate that ends so soon is not used any more.
inline constexpr std::chrono::minutes kProvidedRenewal{10};
// How long the authorities of before a change stay trusted, even if no certificate in use needs
// them: kubelets bring a new certificate to the pods with a delay.
inline constexpr std::chrono::hours kTrustedAfterChange{1};

// The Secret with the authority of the cluster's operands, in the operator's namespace.
inline constexpr std::string_view kClusterAuthorityName = "pod-placement-ca";

// A certificate of a provider (provider.h), with the authorities that clients have to trust.
struct Provided {
  kube::KeyPair serving;
  std::string authorities_pem;
};

// A cluster-scoped object with the CA bundle of a webhook: a webhook configuration, or a CRD with a
// conversion webhook.
struct BundleLocation {
  kube::Resource resource;
  std::string name;
};

struct CertificateRequest {
  // The start of log lines, Request::log.
  std::string log;
  // The Secret of the authority, in the operator's namespace.
  kube::ObjectKey authority;
  // The Secret of the serving certificate; type kubernetes.io/tls.
  kube::ObjectKey serving;
  // The name of its Service for the API server. Those of the cluster's operands and of the operator
  // also have a name without namespace, for the ServiceMonitors.
  std::vector<std::string> dns_names;
  // Neither Secret is expected to exist: both are created without a read before.
  bool expect_none = false;
  // Validity of a new serving certificate.
  std::chrono::seconds validity = kServingValidity;
  // On both Secrets, in addition to kManagedByLabel.
  std::map<std::string, std::string> labels;
  // The owner of the serving certificate's Secret, if any.
  std::optional<kube::meta::OwnerReference> serving_owner = std::nullopt;
  // The objects with the CA bundle. For one that does not exist or has no webhook, the API server
  // calls none.
  std::vector<BundleLocation> bundles = {};
  // Whether the serving certificate's Secret also has the authorities, as ca.crt, for clients other
  // than the API server.
  bool publish_authorities = false;
  // A provider is to issue the serving certificate; needs publish_authorities. Own authorities stay
  // trusted, and own certificates are used until `provided` is there. If it is lost again, it stays
  // in use as long as it is valid.
  bool by_provider = false;
  std::optional<Provided> provided = std::nullopt;
  // The pair that this process serves, for the case that both Secrets are lost.
  std::optional<kube::KeyPair> served = std::nullopt;
  // The key of a token (kube/crypto/secret_token.h) in the serving certificate's Secret; "" for
  // none. The token does not depend on the certificate, and is replaced only if it is lost.
  std::string token_key = {};
};

struct IssuedCertificate {
  // The authorities that clients have to trust, for a caBundle.
  std::string ca_bundle_pem;
  kube::KeyPair serving;
  // That of CertificateRequest::token_key: never log it.
  std::string token = {};
  // The serving certificate is the provider's.
  bool provided = false;
  // Another certificate follows once the API server trusts it: publish the bundle, and call again
  // soon.
  bool pending = false;
  // The serving certificate has replaced another one.
  bool renewed = false;
};

// The name of the Secret with the authority of the shard of `ns`.
std::string ShardAuthorityName(const std::string& ns);

// How long before its end a serving certificate with this validity is renewed.
inline std::chrono::seconds RenewalOf(std::chrono::seconds validity) { return validity / 3; }

// The longest interval between calls of EnsureCertificate(): several calls fit between the renewal
// of a serving certificate and its end.
inline std::chrono::seconds CheckPeriodOf(std::chrono::seconds validity) {
  return RenewalOf(validity) / 4;
}

// The authorities that clients have to trust: that in the Secret `authority` and, while it is
// valid, the previous one. "" if EnsureCertificate() would replace the authority.
std::string CaBundleOf(const kube::core::Secret& authority, kube::WallTime now);

// Issues or renews the authority and the certificate of `request` when necessary. Errors: the API
// server's; kConflict and kAlreadyExists if another operator was faster: call again.
kube::Async<IssuedCertificate> EnsureCertificate(kube::Client& client, kube::Clock& clock,
                                                 CertificateRequest request);

}  // namespace operator_
