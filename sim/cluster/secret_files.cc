// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/secret_files.h"

#include <algorithm>
#include <utility>

#include "kube/base/base64.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace sim {
namespace {

using namespace std::chrono_literals;

std::string CertificateOf(const kube::Json& secret) {
  const kube::Json* data = kube::Find(secret, "data");
  if (data == nullptr || !data->contains("tls.crt")) return "";
  auto decoded = kube::Base64Decode((*data)["tls.crt"].get<std::string>());
  return decoded ? *decoded : "";
}

}  // namespace

void SecretFiles::OnCommit(const kube::StoreCommit& commit) {
  if (commit.collection != kube::kSecrets.Path()) return;
  History& history = secrets_[commit.key];
  history.exists = commit.after != nullptr;
  if (!history.exists) return;
  std::string certificate = CertificateOf(*commit.after);
  if (!history.versions.empty() && history.versions.back().certificate_pem == certificate) return;
  history.versions.push_back({loop_.now(), std::move(certificate)});
  // No mount shows the first one any more.
  while (history.versions.size() > 1 && history.versions[1].stored + kLatest < loop_.now())
    history.versions.pop_front();
}

bool SecretFiles::Exists(const kube::ObjectKey& secret) const {
  auto found = secrets_.find(secret);
  return found != secrets_.end() && found->second.exists;
}

SecretFiles::Mount SecretFiles::NewMount(const kube::ObjectKey& secret) {
  return {secret, loop_.now(), random_.Between(0s, kLatest)};
}

std::string SecretFiles::Certificate(const Mount& mount) const {
  auto found = secrets_.find(mount.secret);
  if (found == secrets_.end()) return "";
  const kube::TimePoint shown = std::max(mount.from, loop_.now() - mount.delay);
  std::string certificate;
  for (const Version& version : found->second.versions) {
    if (version.stored > shown && !certificate.empty()) break;
    certificate = version.certificate_pem;
  }
  return certificate;
}

}  // namespace sim
