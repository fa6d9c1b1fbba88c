// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pull_secrets.h"

#include <glog/logging.h>

#include <algorithm>
#include <vector>

#include "kube/client/typed.h"

namespace cluster_controller {
namespace {

using inspection::Keyring;
using kube::Async;
using kube::Result;
using kube::core::Secret;

// A pod that names more is not honest.
constexpr int kMaxSecrets = 32;
constexpr size_t kMaxEntries = 256;

Keyring ToKeyring(const kube::ObjectKey& key, const Secret& secret) {
  Keyring keyring;
  std::string_view data_key = secret.type() == inspection::kDockerCfgType ? ".dockercfg" : ".dockerconfigjson";
  auto data = secret.data().find(std::string(data_key));
  if (data == secret.data().end()) return keyring;
  Result<void> added = keyring.AddSecret(key.ToString(), secret.type(), data->second);
  if (!added) VLOG(1) << "pull secret " << key.ToString() << " is left out: " << added.error();
  return keyring;
}

}  // namespace

Async<Keyring> PullSecrets::For(const kube::core::Pod& pod) {
  std::vector<kube::ObjectKey> keys;
  for (int i = 0; i < std::min(pod.spec().image_pull_secrets_size(), kMaxSecrets); ++i) {
    keys.push_back({pod.metadata().namespace_(), pod.spec().image_pull_secrets(i).name()});
  }
  keys.push_back(global_);

  Keyring all;
  for (const kube::ObjectKey& key : keys) {
    if (key.name.empty()) continue;
    Result<Keyring> keyring = co_await Read(key);
    if (!keyring) co_return keyring.error();
    all.Append(*keyring);
  }
  co_return all;
}

Async<Keyring> PullSecrets::Read(kube::ObjectKey key) {
  if (auto entry = entries_.find(key); entry != entries_.end() && clock_.Now() < entry->second.expires) {
    co_return entry->second.keyring;
  }
  Result<Secret> secret = co_await kube::Get<Secret>(client_, key);
  if (!secret && !IsNotFound(secret)) co_return secret.error().Prefix("read pull secret " + key.ToString());
  Keyring keyring = secret ? ToKeyring(key, *secret) : Keyring();
  ForgetExpired();
  entries_[key] = {keyring, clock_.Now() + ttl_};
  co_return keyring;
}

void PullSecrets::ForgetExpired() {
  if (entries_.size() < kMaxEntries) return;
  kube::TimePoint now = clock_.Now();
  std::erase_if(entries_, [now](auto& entry) { return entry.second.expires <= now; });
}

}  // namespace cluster_controller
