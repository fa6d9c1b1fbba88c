// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pull_secrets.h"

#include <glog/logging.h>

#include <algorithm>

#include "kube/base/task_group.h"
#include "kube/client/typed.h"

namespace cluster_controller {
namespace {

using inspection::Keyring;
using inspection::SharedKeyring;
using kube::Async;
using kube::Result;
using kube::core::Secret;
using namespace std::chrono_literals;

// Secrets in memory at a time, each up to 1 MiB.
constexpr size_t kMaxReads = 8;

SharedKeyring ToKeyring(const kube::ObjectKey& key, const Secret& secret) {
  std::string_view data_key =
      secret.type() == inspection::kDockerCfgType ? ".dockercfg" : ".dockerconfigjson";
  auto data = secret.data().find(std::string(data_key));
  if (data == secret.data().end()) return nullptr;
  Keyring keyring;
  Result<void> added = keyring.AddSecret(key.ToString(), secret.type(), data->second);
  if (!added) {
    VLOG(1) << "pull secret " << key.ToString() << " is not used: " << added.error();
    keyring.AddProblem(added.error().message());
  }
  return std::make_shared<const Keyring>(std::move(keyring));
}

SharedKeyring OfEveryPod(SharedKeyring global) {
  if (global == nullptr || global->empty()) return global;
  Keyring keyring = *global;
  keyring.SetHolders(inspection::Holders::kEveryPod);
  return std::make_shared<const Keyring>(std::move(keyring));
}

// Copies a keyring only for pods with several.
void Append(SharedKeyring next, const std::string& name, SharedKeyring& all) {
  if (next == nullptr) return;
  if (all == nullptr) {
    all = std::move(next);
    return;
  }
  Keyring both = *all;
  Result<void> added = both.Append(*next);
  if (!added) both.AddProblem("pull secret " + name + ": " + added.error().message());
  all = std::make_shared<const Keyring>(std::move(both));
}

kube::Error NoTimeFor(const kube::ObjectKey& key) {
  return kube::Error::DeadlineExceeded("read pull secret " + key.ToString() +
                                       ": no time is left for it");
}

}  // namespace

Async<SharedKeyring> PullSecrets::For(std::string ns, std::vector<std::string> names,
                                      kube::TimePoint deadline) {
  SharedKeyring all;
  for (const std::string& name : names) {
    kube::ObjectKey key{ns, name};
    Result<SharedKeyring> keyring = co_await Read(std::move(key), deadline);
    if (!keyring) co_return keyring.error();
    Append(std::move(*keyring), name, all);
  }
  Result<SharedKeyring> global = co_await Global(deadline);
  if (!global) co_return global.error();
  Append(std::move(*global), global_.name, all);
  co_return all;
}

Async<SharedKeyring> PullSecrets::Read(kube::ObjectKey key, kube::TimePoint deadline) {
  if (clock_.Now() >= deadline) co_return NoTimeFor(key);
  auto found = calls_.find(key);
  if (found == calls_.end()) {
    Call read([this, key] { return ReadNow(key); });
    found = calls_.emplace(key, Reading{std::move(read)}).first;
  }
  found->second.deadline = std::max(found->second.deadline, deadline);
  Call call = found->second.call;
  Result<SharedKeyring> keyring = co_await call.Call();
  found = calls_.find(key);
  if (found != calls_.end() && found->second.call.idle()) calls_.erase(found);
  co_return keyring;
}

Async<SharedKeyring> PullSecrets::ReadNow(kube::ObjectKey key) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  if (reads_ == nullptr) {
    reads_ = std::make_shared<kube::Slots>(executor, clock_, kMaxReads, "a read of a pull secret");
  }
  // In order: a caller with many Secrets takes no turn of one with few.
  Result<kube::Slots::Lease> turn = co_await reads_->Acquire(kube::TimePoint::max());
  if (!turn) co_return turn.error();
  auto found = calls_.find(key);
  if (found != calls_.end() && clock_.Now() >= found->second.deadline) co_return NoTimeFor(key);
  kube::ApiRequest get{.target = kube::ResourceOf<Secret>::value.Path(key.ns, key.name),
                       .accept = std::string(kube::kContentType<Secret>),
                       .timeout = read_timeout_};
  Result<Secret> secret = co_await kube::CallFor<Secret>(client_, std::move(get));
  turn->reset();
  if (!secret && !IsNotFound(secret))
    co_return secret.error().Prefix("read pull secret " + key.ToString());
  if (!secret) co_return SharedKeyring();
  co_return ToKeyring(key, *secret);
}

Async<SharedKeyring> PullSecrets::Global(kube::TimePoint deadline) {
  if (global_.name.empty()) co_return SharedKeyring();
  if (watch_ != nullptr && watch_->current()) co_return watched_;
  kube::ObjectKey key = global_;
  Result<SharedKeyring> keyring = co_await Read(std::move(key), deadline);
  if (keyring) keyring = OfEveryPod(std::move(*keyring));
  co_return keyring;
}

void PullSecrets::SetGlobal(kube::ObjectKey secret) {
  if (secret == global_) return;
  global_ = std::move(secret);
  ++changes_of_global_;
  watch_.reset();
  watched_.reset();
  global_changed_.NotifyAll();
}

kube::asio::awaitable<void> PullSecrets::Run() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  while (true) {
    uint64_t change = changes_of_global_;
    kube::TaskGroup tasks(executor);
    if (!global_.name.empty()) {
      kube::InformerOptions<Secret> options;
      options.ns = global_.ns;
      // The Role allows to watch this object only: see operator/objects/cluster_objects.h.
      options.field_selector = "metadata.name=" + global_.name;
      watch_ = std::make_shared<Informer>(client_, clock_, std::move(options));
      // Ignores events after SetGlobal() named another Secret.
      watch_->OnEvent([this, own = watch_.get()](kube::EventType type, const Secret& secret) {
        if (watch_.get() != own) return;
        watched_ = type == kube::EventType::kDeleted
                       ? nullptr
                       : OfEveryPod(ToKeyring(kube::KeyOf(secret), secret));
      });
      tasks.Spawn("global-pull-secret", Watch(watch_));
    }
    Result<> waited = kube::Ok();
    while (waited && change == changes_of_global_) waited = co_await global_changed_.Wait();
    if (!waited) co_await kube::ForgetCancellation();
    Result<> stopped = co_await tasks.Stop(clock_, 10s);
    LOG_IF(WARNING, !stopped) << "cannot stop the watch of the global pull secret: "
                              << stopped.error();
    if (!waited) co_return;
  }
}

kube::asio::awaitable<void> PullSecrets::Watch(std::shared_ptr<Informer> informer) {
  co_await informer->Run();
}

}  // namespace cluster_controller
