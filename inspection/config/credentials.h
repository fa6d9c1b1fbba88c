// SPDX-License-Identifier: Apache-2.0
// Keyring: the credentials of pull secrets, and a lookup of the ones for an image.
//
//   Keyring keyring;
//   keyring.AddSecret("ns/regcred", "kubernetes.io/dockerconfigjson", data);
//   for (const Credential& credential : keyring.Match("quay.io", "team/app")) ...
//
// Keys of the configuration: "quay.io", "quay.io:443", "https://index.docker.io/v1/",
// "quay.io/team" (covers the repositories below the path), "*.example.com" ('*' matches within one
// part of the host). The longest key comes first, keys of one length in the order of their
// addition. Secrets never appear in an Error.
//
// Tenants write pull secrets, so a Keyring is limited in bytes and in entries, and shared instead
// of copied.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"

namespace inspection {

inline constexpr std::string_view kDockerConfigJsonType = "kubernetes.io/dockerconfigjson";
inline constexpr std::string_view kDockerCfgType = "kubernetes.io/dockercfg";

// The largest pull secret that is used: enough for some hundred registries. The API server accepts
// 1 MiB.
inline constexpr size_t kMaxPullSecretBytes = 64 * 1024;
// The largest size of all secrets in a Keyring together.
inline constexpr size_t kMaxKeyringBytes = 512 * 1024;

// Which pods may use a credential, those of the whole cluster first.
enum class Holders {
  kEveryPod,
  kPullSecret,      // the pods that name its pull secret
  kServiceAccount,  // the pods of a service account, or one of them
};

struct Credential {
  std::string username;
  std::string password;
  std::string identity_token;  // an OAuth2 refresh token, in place of a password
  std::string registry_token;  // a bearer token that is sent as it is
  std::string source;          // "ns/regcred key quay.io/team", not secret
  // Not empty: names what the rights come from, whatever secret stands for them at the time.
  std::string rights = {};
  // Only for the registry itself, and not for a token server at another host.
  bool own_host_only = false;
  Holders holders = Holders::kPullSecret;

  // A digest of the secret parts, or of `rights`: equal for credentials with the same rights. Not
  // secret.
  std::string Identity() const;
};

class Keyring {
 public:
  // Adds the data of a Secret of either type: {"auths":{key:{...}}}, or {key:{...}} for dockercfg.
  // Invalid entries are skipped. kInvalid, naming the secret, for data that is not such a document,
  // of another type, or too large; nothing is added then.
  kube::Result<void> AddSecret(std::string_view name, std::string_view type, std::string_view data);

  // Adds all of `other` after the present entries. kInvalid, with nothing added, if it has no room.
  kube::Result<void> Append(const Keyring& other);

  // Of all its credentials.
  void SetHolders(Holders holders);

  // Adds the reason why a secret is not used, for the error message when a registry refuses access.
  // `text` names the secret and contains nothing of it.
  void AddProblem(std::string text);
  // All reasons, "" for none.
  const std::string& problem() const { return problem_; }

  // Best match first; at most 16, and not more than 64 KiB. `registry` is Reference::registry.
  std::vector<Credential> Match(std::string_view registry, std::string_view repository) const;

  // A digest: equal for keyrings with the same credentials in the same order and the same problems.
  // Not secret.
  const std::string& Identity() const;

  // Whether a credential has this text in any field.
  bool HasSecret(std::string_view secret) const;

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // Used memory, approximately.
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string host;  // without port, may contain '*'
    std::string port;
    std::string path;      // without leading and trailing slashes
    std::string identity;  // digest of this entry
    Credential credential;
  };

  static size_t BytesOf(const Entry& entry);

  std::vector<Entry> entries_;
  size_t bytes_ = 0;
  std::string problem_;
  mutable std::string all_identity_;  // computed on first use; "" after a change
};

// nullptr is an empty one.
using SharedKeyring = std::shared_ptr<const Keyring>;

}  // namespace inspection
