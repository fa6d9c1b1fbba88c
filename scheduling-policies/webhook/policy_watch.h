// SPDX-License-Identifier: Apache-2.0
// PolicyWatch: the policies of both kinds and the labels of the namespaces, watched and put into an
// Index.
//
//   tasks.Spawn("policies", watch.Run());
//   watch.List();                         // what is stored before this call is listed
//   if (watch.synced()) watch.index().For(ns, labels);
//
// Thread: the client's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/index.h"
#include "scheduling-policies/webhook/replica.h"

namespace policy {

class PolicyWatch {
 public:
  // `client` and `clock` outlive the watch.
  PolicyWatch(kube::Client& client, kube::Clock& clock);
  ~PolicyWatch();

  // Watches until cancelled, from the first List() on.
  kube::asio::awaitable<void> Run();
  // Lists all objects again and watches from there. Until then it is not synced, and the index is
  // empty.
  void List();

  // True when the last List() is complete: the index has all policies that are not left out.
  bool synced() const;
  const Index& index() const { return index_; }
  // How many policies of the namespace, or of all if it is empty, are left out (budget.h).
  size_t LeftOut(const std::string& ns) const;

  // Every policy of this version or an older one is in the index. Versions of a list have no order:
  // during one, these are the versions before it.
  SeenVersions Seen();
  // Called when Seen() has risen by a new generation of a policy, and when a list is complete.
  void OnSeen(std::function<void()> seen) { on_seen_ = std::move(seen); }

 private:
  struct Known {
    std::string uid;
    int64_t generation = 0;
    // The index has this generation.
    bool indexed = false;
  };
  // The watch of one kind of policies.
  struct Kind {
    Kind(kube::Client& client, kube::Clock& clock, Scope of);

    Scope scope;
    kube::Informer<kube::Unstructured> informer;
    std::unordered_map<kube::ObjectKey, Known> known;
    // The highest version that was received, and the one that Seen() has returned last.
    uint64_t received = 0;
    uint64_t seen = 0;
  };
  struct Watches;

  void OnPolicy(Kind& kind, kube::EventType type, const kube::Unstructured& object);
  // Puts a known policy into the index, or removes it if it is left out. `object`: nullptr for the
  // cached one. A stub in the cache is read later.
  void Apply(Kind& kind, const kube::ObjectKey& key, const kube::Unstructured* object);
  void Put(Kind& kind, const kube::ObjectKey& key, const kube::Unstructured& object);
  // Reads the policies that fit, but of which the cache has only a stub.
  kube::asio::awaitable<void> ReadMissing();
  // Waits for the first list of a kind.
  kube::asio::awaitable<void> OnSync(kube::Async<> sync);
  // Completes the list if nothing is missing any more.
  void FinishList();
  void CountSeen(Kind& kind) const;

  kube::Client& client_;
  kube::Clock& clock_;
  std::function<void()> on_seen_;
  kube::Notifier wake_;
  bool list_ = false;
  Index index_;
  // nullptr before the first List().
  std::unique_ptr<Watches> watches_;
};

}  // namespace policy
