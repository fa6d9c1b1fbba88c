// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/large_pods.h"

#include <chrono>
#include <utility>

#include "kube/client/typed.h"

namespace kube {
namespace {

// Safety net: a queued pod is woken on its turn.
constexpr std::chrono::minutes kOverdue{2};

}  // namespace

Async<Outcome> LargePods::Reconcile(Request request) {
  ObjectKey key = request.key;
  if (cache_.Complete(key)) {
    share_.Leave(key);
    Result<Outcome> outcome = co_await reconciler_->Reconcile(std::move(request));
    co_return outcome;
  }
  if (!share_.Enter(key)) co_return Outcome::After(kOverdue);

  // Leaves on every path, exceptions included.
  struct Place {
    LargePods& pods;
    const ObjectKey& key;
    ~Place() {
      pods.live_.erase(key);
      pods.share_.Leave(key);
    }
  } place{*this, key};
  Result<std::optional<core::Pod>> pod = co_await ReadLive(key);
  if (!pod) co_return pod.error();
  live_[key] = std::move(*pod);
  Result<Outcome> outcome = co_await reconciler_->Reconcile(std::move(request));
  co_return outcome;
}

Async<std::optional<core::Pod>> LargePods::ReadLive(ObjectKey key) {
  Result<core::Pod> pod = co_await kube::Get<core::Pod>(client_, key);
  if (IsNotFound(pod)) co_return std::optional<core::Pod>();
  if (!pod) co_return pod.error().Prefix("read a large pod");
  // Not needed for a write: a PUT of a pod ignores its status, and keeps the managed fields if it
  // has none.
  pod->clear_status();
  pod->mutable_metadata()->clear_managed_fields();
  co_return std::optional<core::Pod>(std::move(*pod));
}

std::optional<core::Pod> LargePods::Get(const ObjectKey& key) const {
  auto live = live_.find(key);
  return live == live_.end() ? cache_.Get(key) : live->second;
}

}  // namespace kube
