// SPDX-License-Identifier: Apache-2.0
// LargePods: reads pods live that the cache holds only as a stub (see Reader::Complete()), a few at
// a time.
//
//   LargePods pods(client, cache, {.per_namespace = 1, .total = 2});
//   PodReconciler reconciler(pods, ...);             // reads its pod by pods.Get()
//   pods.Serve(reconciler);
//   Controller controller(options, pods, clock);     // in place of `reconciler`
//   pods.OnTurn([&](const ObjectKey& pod) { controller.Enqueue(pod); });
//
// Such a pod is read before the reconciler is called, and Get() returns it until the reconciler
// returns. A pod beyond the limit is queued and enqueued again on its turn: no worker waits for
// memory.
// Thread: one.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/queue/fair_share.h"
#include "kube/types/core.pb.h"

namespace kube {

class LargePods final : public PodReader, public Reconciler {
 public:
  // `share`: pods at a time. `client` and `cache` outlive this object.
  LargePods(Client& client, const PodReader& cache, FairShareOptions share)
      : client_(client), cache_(cache), share_(share) {}

  // Sets the reconciler; call before the first Reconcile().
  void Serve(Reconciler& reconciler) { reconciler_ = &reconciler; }
  void OnTurn(std::function<void(const ObjectKey&)> wake) { share_.OnTurn(std::move(wake)); }

  // Reconciler
  Async<Outcome> Reconcile(Request request) override;

  // PodReader
  std::optional<core::Pod> Get(const ObjectKey& key) const override;
  bool Complete(const ObjectKey& key) const override {
    return live_.contains(key) || cache_.Complete(key);
  }
  void ForEach(const std::function<void(const core::Pod&)>& visit) const override {
    cache_.ForEach(visit);
  }
  size_t size() const override { return cache_.size(); }
  bool synced() const override { return cache_.synced(); }

 private:
  Async<std::optional<core::Pod>> ReadLive(ObjectKey key);

  Client& client_;
  const PodReader& cache_;
  FairShare share_;
  Reconciler* reconciler_ = nullptr;
  // The pods being reconciled; nullopt: deleted.
  std::unordered_map<ObjectKey, std::optional<core::Pod>> live_;
};

}  // namespace kube
