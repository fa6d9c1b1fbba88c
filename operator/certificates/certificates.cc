// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/certificates.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/crypto/secret_token.h"
#include "kube/types/list_at.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Clock;
using kube::Error;
using kube::Json;
using kube::KeyPair;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::WallTime;
using kube::core::Secret;

constexpr char kCertificateKey[] = "tls.crt";
constexpr char kPrivateKeyKey[] = "tls.key";
// In a serving certificate's Secret: the authorities that its clients have to trust.
constexpr char kAuthoritiesKey[] = "ca.crt";
// The authority before the current one, without its key.
constexpr char kPreviousKey[] = "previous.crt";
// On a serving certificate's Secret with authorities: when either was last changed.
constexpr char kChangedAnnotation[] = "multiarch.openshift.io/certificate-changed";
constexpr size_t kMaxAuthorities = 16;

std::string DataOf(const Secret& secret, const char* key) {
  auto found = secret.data().find(key);
  return found == secret.data().end() ? "" : found->second;
}

KeyPair PairOf(const Secret& secret) {
  return {DataOf(secret, kCertificateKey), DataOf(secret, kPrivateKeyKey)};
}

// True if the certificate in `pem` is valid for longer than `margin`.
bool Outlives(const std::string& pem, WallTime now, std::chrono::seconds margin) {
  Result<WallTime> end = kube::NotAfter(pem);
  return end && *end > now + margin;
}

// False for a certificate that was made while this process's clock was ahead: until its time has
// come, the API server refuses it.
bool HasBegun(const std::string& pem, WallTime now) {
  Result<WallTime> begin = kube::NotBefore(pem);
  return begin && *begin <= now;
}

// The name of the Service for the API server.
const std::string& NameOf(const CertificateRequest& request) { return request.dns_names.front(); }

// True if `serving` has the name for the API server, and is valid now and for longer than `margin`,
// whatever authority signed it.
bool Serves(const KeyPair& serving, const CertificateRequest& request, WallTime now,
            std::chrono::seconds margin) {
  const std::string& pem = serving.certificate_pem;
  if (!IsPair(serving) || !HasBegun(pem, now) || !Outlives(pem, now, margin)) return false;
  Result<std::vector<std::string>> names = kube::DnsNames(pem);
  return names && std::find(names->begin(), names->end(), NameOf(request)) != names->end();
}

// True if the names of the certificate are those of `request`.
bool HasNames(const std::string& pem, const CertificateRequest& request) {
  Result<std::vector<std::string>> names = kube::DnsNames(pem);
  if (!names) return false;
  std::vector<std::string> wanted = request.dns_names;
  std::sort(wanted.begin(), wanted.end());
  std::sort(names->begin(), names->end());
  return *names == wanted;
}

WallTime ChangedAt(const Secret& secret) {
  auto annotation = secret.metadata().annotations().find(kChangedAnnotation);
  if (annotation == secret.metadata().annotations().end()) return WallTime();
  Result<WallTime> changed = kube::ParseTime(annotation->second);
  return changed ? *changed : WallTime();
}

// Adds to `bundle` the authorities of the provider, and the published ones that clients need: for
// the certificate in use, and for one that pods may still serve after a change.
void AddAuthorities(const CertificateRequest& request, const Secret& secret,
                    const std::string& in_use, WallTime now, std::string& bundle) {
  auto add = [&](const std::string& pem) {
    bool full = kube::CertificatesIn(bundle).size() >= kMaxAuthorities;
    if (!full && bundle.find(pem) == std::string::npos && Outlives(pem, now, std::chrono::hours(0)))
      bundle += pem;
  };
  if (request.provided) {
    for (const std::string& pem : kube::CertificatesIn(request.provided->authorities_pem)) add(pem);
  }
  bool changed = now < ChangedAt(secret) + kTrustedAfterChange;
  bool needed = !in_use.empty() && !kube::IsTrusted(in_use, bundle, NameOf(request), now);
  if (!changed && !needed) return;
  for (const std::string& pem : kube::CertificatesIn(DataOf(secret, kAuthoritiesKey))) add(pem);
}

// The CA bundles of a webhook, one for each entry that names it. Empty: the API server does not
// call it.
using Bundles = std::vector<std::string>;

bool AllTrust(const Bundles& bundles, const std::string& certificate_pem) {
  return std::all_of(bundles.begin(), bundles.end(), [&](const std::string& bundle) {
    return bundle.find(certificate_pem) != std::string::npos;
  });
}

// The authority in `bundle` that signed `certificate_pem`; "" for none.
std::string SignerIn(const std::string& bundle, const std::string& certificate_pem) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  size_t begin = 0;
  for (size_t end; (end = bundle.find(kEnd, begin)) != std::string::npos;
       begin = end + kEnd.size()) {
    std::string authority = bundle.substr(begin, end + kEnd.size() - begin);
    if (kube::SignedBy(certificate_pem, authority)) return authority;
  }
  return "";
}

void AddBundle(const std::string& base64, Bundles& bundles) {
  Result<std::string> bundle = kube::Base64Decode(base64);
  bundles.push_back(bundle ? std::move(*bundle) : "");
}

Async<Bundles> ReadBundles(kube::Client& client, const CertificateRequest& request) {
  Bundles bundles;
  for (const BundleLocation& location : request.bundles) {
    // A list of one object needs no permission beyond that of the operator's watches.
    kube::ListOptions options{.field_selector = "metadata.name=" + location.name};
    Result<kube::TypedList<kube::Unstructured>> found =
        co_await kube::ListObjects(client, location.resource, std::move(options));
    if (!found)
      co_return found.error().Prefix("read " + std::string(location.resource.kind) + " " +
                                     location.name);
    for (const kube::Unstructured& object : found->items) {
      for (const Json& webhook : kube::ListAt(object.body(), "webhooks"))
        AddBundle(kube::StringAt(webhook, "clientConfig.caBundle"), bundles);
      const Json* conversion = kube::Find(object.body(), "spec.conversion.webhook.clientConfig");
      if (conversion != nullptr) AddBundle(kube::StringAt(*conversion, "caBundle"), bundles);
    }
  }
  co_return bundles;
}

// The Secret at `key`, or a new one if it does not exist, or is not expected to.
Async<Secret> ReadSecret(kube::Client& client, ObjectKey key, const CertificateRequest& request) {
  if (!request.expect_none) {
    Result<Secret> found = co_await kube::Get<Secret>(client, key);
    if (found || !IsNotFound(found)) co_return found;
  }
  Secret fresh;
  fresh.mutable_metadata()->set_name(key.name);
  fresh.mutable_metadata()->set_namespace_(key.ns);
  fresh.set_type("kubernetes.io/tls");
  auto& labels = *fresh.mutable_metadata()->mutable_labels();
  labels[std::string(kManagedByLabel)] = std::string(kManagedBy);
  for (auto& [label, value] : request.labels) labels[label] = value;
  co_return fresh;
}

// Sets `token` to that of `secret`, which gets one if it has none. Returns: whether it had one.
Result<bool> EnsureToken(const CertificateRequest& request, Secret& secret, std::string& token) {
  if (request.token_key.empty()) return true;
  token = DataOf(secret, request.token_key.c_str());
  if (kube::IsSecretToken(token)) return true;
  Result<std::string> made = kube::NewSecretToken();
  if (!made) return made.error().Prefix("token of " + request.serving.ToString());
  token = std::move(*made);
  (*secret.mutable_data())[request.token_key] = token;
  return false;
}

// Replaces a Secret that has a resourceVersion, creates any other.
Async<> WriteSecret(kube::Client& client, Secret secret) {
  bool exists = !secret.metadata().resource_version().empty();
  if (exists) {
    Result<Secret> written = co_await kube::Update(client, std::move(secret));
    if (!written) co_return written.error();
  } else {
    Result<Secret> written = co_await kube::Create(client, std::move(secret));
    if (!written) co_return written.error();
  }
  co_return Ok();
}

// The authority's Secret, with a new authority if that was necessary. `in_use`: the serving
// certificate, "" for none; its authority stays in the bundle.
Async<Secret> EnsureAuthority(kube::Client& client, Clock& clock, const CertificateRequest& request,
                              std::string in_use) {
  Result<Secret> secret = co_await ReadSecret(client, request.authority, request);
  if (!secret) co_return secret.error().Prefix("read authority " + request.authority.ToString());
  if (!CaBundleOf(*secret, clock.WallNow()).empty()) co_return secret;

  KeyPair current = PairOf(*secret);
  bool usable = IsPair(current);
  std::string previous = SignerIn(current.certificate_pem + DataOf(*secret, kPreviousKey), in_use);
  if (previous.empty() && usable) previous = current.certificate_pem;
  if (previous.empty() && !in_use.empty()) {
    Result<Bundles> bundles = co_await ReadBundles(client, request);
    if (!bundles) co_return bundles.error();
    for (const std::string& bundle : *bundles) {
      if (previous.empty()) previous = SignerIn(bundle, in_use);
    }
  }
  std::string name = request.dns_names.empty() ? request.authority.name : request.dns_names.front();
  Result<KeyPair> made = kube::NewCertificateAuthority(name, kAuthorityValidity, clock);
  if (!made) co_return made.error().Prefix("create authority " + request.authority.ToString());
  auto& data = *secret->mutable_data();
  data.erase(kPreviousKey);
  if (!previous.empty()) data[kPreviousKey] = std::move(previous);
  data[kCertificateKey] = made->certificate_pem;
  data[kPrivateKeyKey] = made->private_key_pem;
  Result<> written = co_await WriteSecret(client, *secret);
  if (!written) co_return written.error().Prefix("write authority " + request.authority.ToString());
  LOG(INFO) << request.log << " authority=" << request.authority.ToString() << " created";
  co_return secret;
}

// True if the API server trusts certificates that `authority_pem` signs now.
Async<bool> MaySign(kube::Client& client, const Clock& clock, const CertificateRequest& request,
                    std::string authority_pem) {
  Result<Bundles> bundles = co_await ReadBundles(client, request);
  if (!bundles) co_return bundles.error();
  if (bundles->empty()) co_return true;
  Result<WallTime> end = kube::NotAfter(authority_pem);
  bool settled = end && *end - kAuthorityValidity + kAuthoritySettles <= clock.WallNow();
  co_return settled&& AllTrust(*bundles, authority_pem);
}

// True if the API server trusts the provider's certificate now. `changed`: when its authorities
// were published, at the latest.
Async<bool> MayUse(kube::Client& client, const Clock& clock, const CertificateRequest& request,
                   WallTime changed) {
  Result<Bundles> bundles = co_await ReadBundles(client, request);
  if (!bundles) co_return bundles.error();
  if (bundles->empty()) co_return true;
  WallTime now = clock.WallNow();
  const std::string& pem = request.provided->serving.certificate_pem;
  if (now < changed + kAuthoritySettles) co_return false;
  co_return std::all_of(bundles->begin(), bundles->end(), [&](const std::string& bundle) {
    return kube::IsTrusted(pem, bundle, NameOf(request), now);
  });
}

// EnsureCertificate() for what `request` expects. Errors: also kAlreadyExists if a Secret exists
// that was not expected.
Async<IssuedCertificate> Issue(kube::Client& client, Clock& clock, CertificateRequest request) {
  Result<Secret> secret = co_await ReadSecret(client, request.serving, request);
  if (!secret) co_return secret.error().Prefix("read certificate " + request.serving.ToString());
  IssuedCertificate issued{.ca_bundle_pem = {}, .serving = PairOf(*secret)};
  Result<bool> token_kept = EnsureToken(request, *secret, issued.token);
  if (!token_kept) co_return token_kept.error();
  const WallTime now = clock.WallNow();
  bool serves = Serves(issued.serving, request, now, std::chrono::hours(0));
  bool lost =
      !serves && request.served && Serves(*request.served, request, now, std::chrono::hours(0));
  if (lost) issued.serving = *request.served;
  std::string in_use = serves || lost ? issued.serving.certificate_pem : "";

  Result<Secret> authority = co_await EnsureAuthority(client, clock, request, in_use);
  if (!authority) co_return authority.error();
  KeyPair signer = PairOf(*authority);
  issued.ca_bundle_pem = CaBundleOf(*authority, now);
  bool by_own = kube::IsTrusted(in_use, issued.ca_bundle_pem, NameOf(request), now);
  AddAuthorities(request, *secret, in_use, now, issued.ca_bundle_pem);
  bool trusted = kube::IsTrusted(in_use, issued.ca_bundle_pem, NameOf(request), now);
  bool published =
      !request.publish_authorities || DataOf(*secret, kAuthoritiesKey) == issued.ca_bundle_pem;
  bool fresh = false;
  if (request.provided) {
    fresh = serves && issued.serving.certificate_pem == request.provided->serving.certificate_pem;
    issued.provided = fresh;
  } else if (request.by_provider && trusted && !by_own) {
    fresh = serves && Serves(issued.serving, request, now, kProvidedRenewal);
  } else {
    fresh = serves && HasNames(issued.serving.certificate_pem, request) &&
            Serves(issued.serving, request, now, RenewalOf(request.validity)) &&
            kube::SignedBy(issued.serving.certificate_pem, signer.certificate_pem);
  }
  if (fresh && published && *token_kept) co_return issued;

  // A trusted certificate stays in use until the API server trusts the next one.
  if (!fresh && trusted) {
    Result<bool> may = true;
    if (request.provided) {
      may = co_await MayUse(client, clock, request, ChangedAt(*secret));
    } else {
      may = co_await MaySign(client, clock, request, signer.certificate_pem);
    }
    if (!may) co_return may.error();
    issued.pending = !*may;
    if (issued.pending && serves && published && *token_kept) co_return issued;
  }
  if (!fresh && !issued.pending && request.provided) {
    issued.serving = request.provided->serving;
    issued.provided = true;
    issued.renewed = !secret->metadata().resource_version().empty();
  } else if (!fresh && !issued.pending) {
    Result<KeyPair> made =
        kube::NewServingCertificate(signer, request.dns_names, request.validity, clock);
    if (!made) co_return made.error().Prefix("issue certificate " + request.serving.ToString());
    issued.serving = std::move(*made);
    issued.renewed = !secret->metadata().resource_version().empty();
  }
  (*secret->mutable_data())[kCertificateKey] = issued.serving.certificate_pem;
  (*secret->mutable_data())[kPrivateKeyKey] = issued.serving.private_key_pem;
  if (request.publish_authorities) {
    (*secret->mutable_data())[kAuthoritiesKey] = issued.ca_bundle_pem;
    (*secret->mutable_metadata()->mutable_annotations())[kChangedAnnotation] =
        kube::FormatTime(now);
  }
  if (request.serving_owner && secret->metadata().owner_references().empty()) {
    *secret->mutable_metadata()->add_owner_references() = *request.serving_owner;
  }
  Result<> written = co_await WriteSecret(client, std::move(*secret));
  if (!written) co_return written.error().Prefix("write certificate " + request.serving.ToString());
  bool same = fresh || (issued.pending && serves);
  LOG(INFO) << request.log << " certificate=" << request.serving.ToString()
            << (same && published ? " has a new token"
                : same            ? " has new authorities"
                : issued.pending  ? " restored"
                                  : " issued");
  co_return issued;
}

}  // namespace

std::string ShardAuthorityName(const std::string& ns) { return "pod-placement-shard-ca-" + ns; }

std::string CaBundleOf(const Secret& authority, WallTime now) {
  KeyPair current = PairOf(authority);
  std::string& bundle = current.certificate_pem;
  if (!IsPair(current) || !HasBegun(bundle, now) || !Outlives(bundle, now, kAuthorityRenewal))
    return "";
  std::string previous = DataOf(authority, kPreviousKey);
  if (Outlives(previous, now, std::chrono::hours(0))) bundle += previous;
  return bundle;
}

Async<IssuedCertificate> EnsureCertificate(kube::Client& client, Clock& clock,
                                           CertificateRequest request) {
  if (request.expect_none) {
    Result<IssuedCertificate> issued = co_await Issue(client, clock, request);
    if (issued || issued.error().code() != kube::Code::kAlreadyExists) co_return issued;
    request.expect_none = false;
  }
  co_return co_await Issue(client, clock, std::move(request));
}

}  // namespace operator_
