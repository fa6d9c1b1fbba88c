// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credentials.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "inspection/base/digest.h"
#include "inspection/base/header_value.h"
#include "inspection/config/host_match.h"
#include "kube/base/base64.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

constexpr size_t kMaxEntries = 1024;
// The largest size of a credential: no server accepts a longer header.
constexpr size_t kMaxCredential = 16 * 1024;
constexpr size_t kMaxMatches = 16;
constexpr size_t kMaxMatchedBytes = 64 * 1024;
constexpr size_t kMaxProblem = 512;

size_t SizeOf(const Credential& credential) {
  return credential.username.size() + credential.password.size() +
         credential.identity_token.size() + credential.registry_token.size() +
         credential.source.size();
}

// Whole components: "team" covers "team" and "team/app", not "teams".
bool PathCovers(std::string_view path, std::string_view repository) {
  if (path.empty()) return true;
  if (!repository.starts_with(path)) return false;
  return repository.size() == path.size() || repository[path.size()] == '/';
}

std::optional<Credential> ParseEntry(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Credential credential;
  credential.username = kube::StringAt(json, "username");
  credential.password = kube::StringAt(json, "password");
  credential.identity_token = kube::StringAt(json, "identitytoken");
  credential.registry_token = kube::StringAt(json, "registrytoken");
  if (std::string auth = kube::StringAt(json, "auth"); !auth.empty()) {
    kube::Result<std::string> pair = kube::Base64Decode(auth);
    size_t colon = pair ? pair->find(':') : std::string::npos;
    // `auth` wins over the two fields, as in docker and in the kubelet.
    if (colon != std::string::npos) {
      credential.username = pair->substr(0, colon);
      credential.password = pair->substr(colon + 1);
      // Docker pads with zero bytes.
      credential.password.erase(credential.password.find_last_not_of('\0') + 1);
    } else if (credential.username.empty()) {
      return std::nullopt;
    }
  }
  if (!FitsIntoHeader(credential.registry_token)) return std::nullopt;
  if (credential.username.find(':') != std::string::npos) return std::nullopt;
  bool empty = credential.username.empty() && credential.identity_token.empty() &&
               credential.registry_token.empty();
  if (empty || SizeOf(credential) > kMaxCredential) return std::nullopt;
  return credential;
}

}  // namespace

std::string Credential::Identity() const {
  if (!rights.empty()) return Sha256Digest("rights " + rights);
  std::string all;
  for (const std::string* part : {&username, &password, &identity_token, &registry_token}) {
    all += std::to_string(part->size()) + ":" + *part;
  }
  return Sha256Digest(all);
}

Result<void> Keyring::AddSecret(std::string_view name, std::string_view type,
                                std::string_view data) {
  std::string about = "pull secret " + std::string(name);
  if (type != kDockerConfigJsonType && type != kDockerCfgType)
    return Error::Invalid(about + " is not of a type for pull secrets");
  if (data.size() > kMaxPullSecretBytes) {
    return Error::Invalid(about + " is larger than " + std::to_string(kMaxPullSecretBytes / 1024) +
                          " KiB");
  }
  Result<Json> json = kube::ParseJson(data);
  // The parser's message may quote the secret.
  if (!json || !json->is_object()) return Error::Invalid(about + " is not a JSON object");
  const Json* auths = type == kDockerConfigJsonType ? kube::Find(*json, "auths") : &*json;
  if (auths == nullptr || !auths->is_object())
    return Error::Invalid(about + " has no object \"auths\"");

  Keyring added;
  for (const auto& [key, value] : auths->items()) {
    if (added.entries_.size() == kMaxEntries) break;
    std::optional<Credential> credential = ParseEntry(value);
    if (!credential) continue;
    std::string_view rest = key;
    if (size_t scheme = rest.find("://"); scheme != std::string_view::npos)
      rest.remove_prefix(scheme + 3);
    size_t slash = rest.find('/');
    HostPort authority = SplitHost(rest.substr(0, slash));
    if (authority.host.empty()) continue;
    std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
    for (std::string_view version : {"/v1/", "/v2/"}) {
      if (path.starts_with(version) || path == version.substr(0, 3)) path.remove_prefix(3);
    }
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    credential->source = std::string(name) + " key " + std::string(rest.substr(0, 200));
    std::string identity = Sha256Digest(authority.host + ":" + authority.port + "/" +
                                        std::string(path) + " " + credential->Identity());
    added.entries_.push_back({std::move(authority.host), std::move(authority.port),
                              std::string(path), std::move(identity), std::move(*credential)});
    added.bytes_ += BytesOf(added.entries_.back());
  }
  Result<void> appended = Append(added);
  return appended ? appended : appended.error().Prefix(about);
}

Result<void> Keyring::Append(const Keyring& other) {
  if (bytes_ + other.bytes_ > kMaxKeyringBytes ||
      entries_.size() + other.entries_.size() > kMaxEntries) {
    return Error::Invalid("too large together with the secrets before it");
  }
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  bytes_ += other.bytes_;
  all_identity_.clear();
  if (!other.problem_.empty()) AddProblem(other.problem_);
  return kube::Ok();
}

void Keyring::SetHolders(Holders holders) {
  for (Entry& entry : entries_) entry.credential.holders = holders;
}

void Keyring::AddProblem(std::string text) {
  if (problem_.size() + text.size() > kMaxProblem) return;
  if (!problem_.empty()) problem_ += "; ";
  problem_ += text;
  all_identity_.clear();
}

bool Keyring::HasSecret(std::string_view secret) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const Credential& credential = entry.credential;
    return credential.password == secret || credential.identity_token == secret ||
           credential.registry_token == secret || credential.username == secret;
  });
}

size_t Keyring::BytesOf(const Entry& entry) {
  return sizeof(Entry) + entry.host.size() + entry.port.size() + entry.path.size() +
         entry.identity.size() + SizeOf(entry.credential);
}

const std::string& Keyring::Identity() const {
  if (!all_identity_.empty() || (entries_.empty() && problem_.empty())) return all_identity_;
  std::string all;
  for (const Entry& entry : entries_) all += entry.identity;
  all_identity_ = Sha256Digest(all + problem_);
  return all_identity_;
}

std::vector<Credential> Keyring::Match(std::string_view registry,
                                       std::string_view repository) const {
  HostPort target = SplitHost(registry);
  std::vector<const Entry*> matches;
  for (const Entry& entry : entries_) {
    if (entry.port == target.port && HostMatches(entry.host, target.host) &&
        PathCovers(entry.path, repository)) {
      matches.push_back(&entry);
    }
  }
  // Longest path, then a plain host before one with '*', then the longest host.
  auto rank = [](const Entry* entry) {
    return std::tuple(entry->path.size(), entry->host.find('*') == std::string::npos,
                      entry->host.size());
  };
  std::stable_sort(matches.begin(), matches.end(),
                   [&](const Entry* a, const Entry* b) { return rank(a) > rank(b); });
  std::vector<Credential> credentials;
  std::vector<std::string> seen;
  size_t bytes = 0;
  for (const Entry* entry : matches) {
    bytes += SizeOf(entry->credential);
    if (bytes > kMaxMatchedBytes) break;
    std::string identity = entry->credential.Identity();
    if (std::find(seen.begin(), seen.end(), identity) != seen.end()) continue;
    seen.push_back(std::move(identity));
    credentials.push_back(entry->credential);
    if (credentials.size() == kMaxMatches) break;
  }
  return credentials;
}

}  // namespace inspection
