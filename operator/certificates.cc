// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "kube/client/typed.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Clock;
using kube::Error;
using kube::KeyPair;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::WallTime;
using kube::core::Secret;

constexpr char kCertificateKey[] = "tls.crt";
constexpr char kPrivateKeyKey[] = "tls.key";
// The authority before the current one, without its key.
constexpr char kPreviousKey[] = "previous.crt";

std::string DataOf(const Secret& secret, const char* key) {
  auto found = secret.data().find(key);
  return found == secret.data().end() ? "" : found->second;
}

KeyPair PairOf(const Secret& secret) { return {DataOf(secret, kCertificateKey), DataOf(secret, kPrivateKeyKey)}; }

// True if the certificate in `pem` is valid for longer than `margin`.
bool Outlives(const std::string& pem, WallTime now, std::chrono::hours margin) {
  Result<WallTime> end = kube::NotAfter(pem);
  return end && *end > now + margin;
}

bool IsGoodServing(const KeyPair& serving, const KeyPair& authority, const CertificateRequest& request, WallTime now) {
  if (!IsPair(serving) || !Outlives(serving.certificate_pem, now, kServingRenewal)) return false;
  if (!kube::SignedBy(serving.certificate_pem, authority.certificate_pem)) return false;
  Result<std::vector<std::string>> names = kube::DnsNames(serving.certificate_pem);
  if (!names) return false;
  std::vector<std::string> wanted = request.dns_names;
  std::sort(wanted.begin(), wanted.end());
  std::sort(names->begin(), names->end());
  return *names == wanted;
}

// The Secret at `key`, or one to be created there.
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

// Creates or replaces; a resourceVersion tells which.
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

// The authority's Secret with an authority that is good, and was written if it had to be made.
Async<Secret> EnsureAuthority(kube::Client& client, Clock& clock, const CertificateRequest& request) {
  Result<Secret> secret = co_await ReadSecret(client, request.authority, request);
  if (!secret) co_return secret.error().Prefix("read authority " + request.authority.ToString());
  KeyPair current = PairOf(*secret);
  bool usable = IsPair(current);
  if (usable && Outlives(current.certificate_pem, clock.WallNow(), kAuthorityRenewal)) co_return secret;

  std::string name = request.dns_names.empty() ? request.authority.name : request.dns_names.front();
  Result<KeyPair> made = kube::NewCertificateAuthority(name, kAuthorityValidity, clock);
  if (!made) co_return made.error().Prefix("make authority " + request.authority.ToString());
  auto& data = *secret->mutable_data();
  if (usable) {
    data[kPreviousKey] = current.certificate_pem;
  } else {
    data.erase(kPreviousKey);
  }
  data[kCertificateKey] = made->certificate_pem;
  data[kPrivateKeyKey] = made->private_key_pem;
  Result<> written = co_await WriteSecret(client, *secret);
  if (!written) co_return written.error().Prefix("write authority " + request.authority.ToString());
  LOG(INFO) << "authority=" << request.authority.ToString() << " made";
  co_return secret;
}

}  // namespace

std::string ShardAuthorityName(const std::string& ns) { return "pod-placement-shard-ca-" + ns; }

Async<IssuedCertificate> EnsureCertificate(kube::Client& client, Clock& clock, CertificateRequest request) {
  Result<Secret> authority = co_await EnsureAuthority(client, clock, request);
  if (!authority) co_return authority.error();
  KeyPair signer = PairOf(*authority);
  IssuedCertificate issued{.ca_bundle_pem = signer.certificate_pem, .serving = {}};
  std::string previous = DataOf(*authority, kPreviousKey);
  if (Outlives(previous, clock.WallNow(), std::chrono::hours(0))) issued.ca_bundle_pem += previous;

  Result<Secret> secret = co_await ReadSecret(client, request.serving, request);
  if (!secret) co_return secret.error().Prefix("read certificate " + request.serving.ToString());
  issued.serving = PairOf(*secret);
  if (IsGoodServing(issued.serving, signer, request, clock.WallNow())) co_return issued;

  Result<KeyPair> made = kube::NewServingCertificate(signer, request.dns_names, kServingValidity, clock);
  if (!made) co_return made.error().Prefix("make certificate " + request.serving.ToString());
  (*secret->mutable_data())[kCertificateKey] = made->certificate_pem;
  (*secret->mutable_data())[kPrivateKeyKey] = made->private_key_pem;
  if (request.serving_owner && secret->metadata().owner_references().empty()) {
    *secret->mutable_metadata()->add_owner_references() = *request.serving_owner;
  }
  Result<> written = co_await WriteSecret(client, std::move(*secret));
  if (!written) co_return written.error().Prefix("write certificate " + request.serving.ToString());
  LOG(INFO) << "certificate=" << request.serving.ToString() << " made";
  issued.serving = std::move(*made);
  co_return issued;
}

}  // namespace operator_
