// SPDX-License-Identifier: Apache-2.0
// Keyring: the credentials of pull secrets, and which of them are for an image.
//
//   Keyring keyring;
//   keyring.AddSecret("ns/regcred", "kubernetes.io/dockerconfigjson", data);
//   for (const Credential& credential : keyring.Match("quay.io", "team/app")) ...
//
// Keys of the configuration: "quay.io", "quay.io:443", "https://index.docker.io/v1/",
// "quay.io/team" (a path covers what is below it), "*.example.com" (each '*' stands within one part
// of the host). The longest key comes first, keys of one length in the order in which they were
// added. Secrets never appear in an Error.
//
// Secrets are a tenant's to write, so a Keyring is bounded in bytes as well as in entries, and
// shared instead of copied.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"

namespace inspection {

inline constexpr std::string_view kDockerConfigJsonType = "kubernetes.io/dockerconfigjson";
inline constexpr std::string_view kDockerCfgType = "kubernetes.io/dockercfg";

// The largest pull secret that is read: some hundred registries' worth. The API server takes 1 MiB.
inline constexpr size_t kMaxPullSecretBytes = 64 * 1024;
// What a Keyring may hold of all its secrets together.
inline constexpr size_t kMaxKeyringBytes = 512 * 1024;

struct Credential {
  std::string username;
  std::string password;
  std::string identity_token;  // an OAuth2 refresh token, in place of a password
  std::string registry_token;  // a bearer token that is sent as it is
  std::string source;          // "ns/regcred key quay.io/team": safe to show

  // A digest of the secret parts: equal for credentials that open the same doors, of no use to
  // anybody else.
  std::string Identity() const;
};

class Keyring {
 public:
  // The data of a Secret of either type: {"auths":{key:{...}}}, or {key:{...}} for dockercfg. A
  // broken entry is left out, the others count. kInvalid, naming the secret, for data that is not
  // such a document, of another type, or too large; nothing is added then.
  kube::Result<void> AddSecret(std::string_view name, std::string_view type, std::string_view data);

  // All that is in `other`, after what is here already. kInvalid, and nothing is added, where it
  // has no room.
  kube::Result<void> Append(const Keyring& other);

  // Notes a secret that is not used, for who wonders why a registry refused; `text` names it and is
  // safe to show.
  void AddProblem(std::string text);
  // All of them, "" for none.
  const std::string& problem() const { return problem_; }

  // Best match first; at most 16, and not more than 64 KiB. `registry` is Reference::registry.
  std::vector<Credential> Match(std::string_view registry, std::string_view repository) const;

  // Equal for keyrings that open the same doors in the same order and have the same problems; of no
  // use to anybody else.
  const std::string& Identity() const;

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // In memory, roughly.
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string host;  // without port, may have '*'
    std::string port;
    std::string path;      // without slashes around it
    std::string identity;  // of all that is here
    Credential credential;
  };

  static size_t BytesOf(const Entry& entry);

  std::vector<Entry> entries_;
  size_t bytes_ = 0;
  std::string problem_;
  mutable std::string all_identity_;  // once it was asked for; "" again after a change
};

// nullptr stands for an empty one.
using SharedKeyring = std::shared_ptr<const Keyring>;

}  // namespace inspection
