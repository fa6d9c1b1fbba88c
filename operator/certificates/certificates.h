// SPDX-License-Identifier: Apache-2.0
// Certificates: an own authority for each namespace that serves a webhook, and the webhook's
// certificate by it.
//
// The authority's key lies in a Secret of the operator's namespace and never leaves it; the
// namespace of the webhook gets the serving certificate alone, so that no tenant can sign for
// another one (I6). Both are renewed well before they end: a serving certificate after two thirds
// of its 90 days, an authority in the last year of ten.
//
// A new authority signs nothing before the API server trusts it: it is in the bundle that is
// returned here first, and only when the webhook configurations are seen to have that bundle the
// serving certificate follows. The authority before it stays in the bundle, as the new certificate
// takes its time to reach the webhook. The same holds for an authority whose Secret was lost: what
// the webhook serves is trusted on until a new certificate can be. Only where there is no serving
// certificate any more, one is made at once. What is in the Secrets and in the configurations
// counts, nothing is remembered here. Thread: the client's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/crypto/certificates.h"
#include "kube/types/resource.h"

namespace operator_ {

inline constexpr std::chrono::hours kServingValidity{90 * 24};
inline constexpr std::chrono::hours kServingRenewal{30 * 24};  // before its end
inline constexpr std::chrono::hours kAuthorityValidity{10 * 365 * 24};
inline constexpr std::chrono::hours kAuthorityRenewal{365 * 24};  // before its end
// API servers see a new bundle at once, though not at the same time: a new authority waits for so
// long.
inline constexpr std::chrono::seconds kAuthoritySettles{10};

// A cluster-scoped object that tells the API server which authorities to trust for a webhook: a
// webhook configuration, or a CRD with a conversion webhook.
struct BundleLocation {
  kube::Resource resource;
  std::string name;
};

struct CertificateRequest {
  // Where the authority is kept; in the operator's namespace.
  kube::ObjectKey authority;
  // Where the serving certificate goes; a Secret of type kubernetes.io/tls.
  kube::ObjectKey serving;
  std::vector<std::string> dns_names;
  // On both Secrets, beside the label that all objects of ours have.
  std::map<std::string, std::string> labels;
  // Whom the serving certificate's Secret goes with, where that is not its namespace alone.
  std::optional<kube::meta::OwnerReference> serving_owner = std::nullopt;
  // Where the API server is told of the authority. An object that is not there, or that names no
  // webhook, calls none.
  std::vector<BundleLocation> bundles = {};
  // What this process serves, for the case that the Secrets of both are lost.
  std::optional<kube::KeyPair> served = std::nullopt;
};

struct IssuedCertificate {
  // What clients shall trust, for a caBundle.
  std::string ca_bundle_pem;
  kube::KeyPair serving;
  // The serving certificate is of an authority before the current one: publish the bundle, and ask
  // again soon.
  bool pending = false;
};

// The Secret in which the authority of the shard of `ns` is kept.
std::string ShardAuthorityName(const std::string& ns);

// Makes or renews what `request` needs, and leaves alone what is good.
// Errors: the API server's; kConflict and kAlreadyExists if another operator was faster: ask again.
kube::Async<IssuedCertificate> EnsureCertificate(kube::Client& client, kube::Clock& clock,
                                                 CertificateRequest request);

}  // namespace operator_
