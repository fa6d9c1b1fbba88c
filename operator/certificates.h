// SPDX-License-Identifier: Apache-2.0
// Certificates: an own authority for each namespace that serves a webhook, and the webhook's certificate by it.
//
// The authority's key lies in a Secret of the operator's namespace and never leaves it; the namespace of the webhook gets
// the serving certificate alone, so that no tenant can sign for another one (I6). Both are renewed well before they end:
// a serving certificate after two thirds of its 90 days, an authority in the last year of ten. While an authority
// changes, the API server trusts both, as the new serving certificate takes its time to reach the webhook.
// What is in the Secrets counts, nothing is remembered here: whoever loses one gets new ones.
// Thread: the client's.
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
};

struct IssuedCertificate {
  // What clients shall trust, for a caBundle.
  std::string ca_bundle_pem;
  kube::KeyPair serving;
};

// The Secret in which the authority of the shard of `ns` is kept.
std::string ShardAuthorityName(const std::string& ns);

// Makes or renews what `request` needs, and leaves alone what is good.
// Errors: the API server's; kConflict and kAlreadyExists if another operator was faster: ask again.
kube::Async<IssuedCertificate> EnsureCertificate(kube::Client& client, kube::Clock& clock, CertificateRequest request);

}  // namespace operator_
