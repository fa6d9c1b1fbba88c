// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/certificates.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "kube/base/base64.h"
#include "kube/client/typed.h"
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

// True if `serving` fits `request` and is valid for longer than `margin`, whatever authority signed
// it.
bool Serves(const KeyPair& serving, const CertificateRequest& request, WallTime now,
            std::chrono::seconds margin) {
  if (!IsPair(serving) || !Outlives(serving.certificate_pem, now, margin)) return false;
  Result<std::vector<std::string>> names = kube::DnsNames(serving.certificate_pem);
  if (!names) return false;
  std::vector<std::string> wanted = request.dns_names;
  std::sort(wanted.begin(), wanted.end());
  std::sort(names->begin(), names->end());
  return *names == wanted;
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
      if (const Json* webhooks = kube::Find(object.body(), "webhooks");
          webhooks != nullptr && webhooks->is_array()) {
        for (const Json& webhook : *webhooks)
          AddBundle(kube::StringAt(webhook, "clientConfig.caBundle"), bundles);
      }
      const Json* conversion = kube::Find(object.body(), "spec.conversion.webhook.clientConfig");
      if (conversion != nullptr) AddBundle(kube::StringAt(*conversion, "caBundle"), bundles);
    }
  }
  co_return bundles;
}

// The Secret at `key`, or a new one that does not exist yet.
Async<Secret> ReadSecret(kube::Client& client, ObjectKey key, const CertificateRequest& request) {
  Result<Secret> found = co_await kube::Get<Secret>(client, key);
  if (found || !IsNotFound(found)) co_return found;
  Secret fresh;
  fresh.mutable_metadata()->set_name(key.name);
  fresh.mutable_metadata()->set_namespace_(key.ns);
  fresh.set_type("kubernetes.io/tls");
  auto& labels = *fresh.mutable_metadata()->mutable_labels();
  labels[std::string(kManagedByLabel)] = std::string(kManagedBy);
  for (auto& [label, value] : request.labels) labels[label] = value;
  co_return fresh;
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

// The authority's Secret, with a new authority if one was due. `in_use`: the serving certificate,
// "" for none; its authority stays in the bundle.
Async<Secret> EnsureAuthority(kube::Client& client, Clock& clock, const CertificateRequest& request,
                              std::string in_use) {
  Result<Secret> secret = co_await ReadSecret(client, request.authority, request);
  if (!secret) co_return secret.error().Prefix("read authority " + request.authority.ToString());
  KeyPair current = PairOf(*secret);
  bool usable = IsPair(current);
  if (usable && Outlives(current.certificate_pem, clock.WallNow(), kAuthorityRenewal))
    co_return secret;

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

}  // namespace

std::string ShardAuthorityName(const std::string& ns) { return "pod-placement-shard-ca-" + ns; }

Async<IssuedCertificate> EnsureCertificate(kube::Client& client, Clock& clock,
                                           CertificateRequest request) {
  Result<Secret> secret = co_await ReadSecret(client, request.serving, request);
  if (!secret) co_return secret.error().Prefix("read certificate " + request.serving.ToString());
  IssuedCertificate issued{.ca_bundle_pem = {}, .serving = PairOf(*secret)};
  bool serves = Serves(issued.serving, request, clock.WallNow(), std::chrono::hours(0));
  bool lost = !serves && request.served &&
              Serves(*request.served, request, clock.WallNow(), std::chrono::hours(0));
  if (lost) issued.serving = *request.served;
  std::string in_use = serves || lost ? issued.serving.certificate_pem : "";

  Result<Secret> authority = co_await EnsureAuthority(client, clock, request, in_use);
  if (!authority) co_return authority.error();
  KeyPair signer = PairOf(*authority);
  issued.ca_bundle_pem = signer.certificate_pem;
  std::string previous = DataOf(*authority, kPreviousKey);
  if (Outlives(previous, clock.WallNow(), std::chrono::hours(0))) issued.ca_bundle_pem += previous;
  bool published =
      !request.publish_authorities || DataOf(*secret, kAuthoritiesKey) == issued.ca_bundle_pem;
  bool fresh = serves &&
               Serves(issued.serving, request, clock.WallNow(), RenewalOf(request.validity)) &&
               kube::SignedBy(issued.serving.certificate_pem, signer.certificate_pem);
  if (fresh && published) co_return issued;

  // A trusted certificate stays in use until the API server trusts the new authority.
  std::string signer_of_used = SignerIn(issued.ca_bundle_pem, in_use);
  if (!fresh && !signer_of_used.empty()) {
    Result<bool> may_sign = co_await MaySign(client, clock, request, signer.certificate_pem);
    if (!may_sign) co_return may_sign.error();
    issued.pending = !*may_sign;
    if (issued.pending && serves && published) co_return issued;
  }
  if (!fresh && !issued.pending) {
    Result<KeyPair> made =
        kube::NewServingCertificate(signer, request.dns_names, request.validity, clock);
    if (!made) co_return made.error().Prefix("issue certificate " + request.serving.ToString());
    issued.serving = std::move(*made);
    issued.renewed = !secret->metadata().resource_version().empty();
  }
  (*secret->mutable_data())[kCertificateKey] = issued.serving.certificate_pem;
  (*secret->mutable_data())[kPrivateKeyKey] = issued.serving.private_key_pem;
  if (request.publish_authorities)
    (*secret->mutable_data())[kAuthoritiesKey] = issued.ca_bundle_pem;
  if (request.serving_owner && secret->metadata().owner_references().empty()) {
    *secret->mutable_metadata()->add_owner_references() = *request.serving_owner;
  }
  Result<> written = co_await WriteSecret(client, std::move(*secret));
  if (!written) co_return written.error().Prefix("write certificate " + request.serving.ToString());
  LOG(INFO) << request.log << " certificate=" << request.serving.ToString()
            << (fresh || (issued.pending && serves) ? " has new authorities"
                : issued.pending                    ? " restored"
                                                    : " issued");
  co_return issued;
}

}  // namespace operator_
