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
#include "policy/index.h"
#include "policy/webhook/replica.h"

namespace policy {

// Limits of the policies of namespaces, as encoded in the cache: an owner of a namespace takes
// neither the memory nor the CPU time of others. The index needs about ten times as much. A policy
// beyond them is left out.
inline constexpr kube::CacheBudget kPolicyBudget{
    .object = 64 * 1024, .one_namespace = 256 * 1024, .total = 4 * 1024 * 1024};

// What a replica needs of a policy and what counts, as CBOR, for kPolicyBudget: most bytes of a
// stored object are managed fields and status.
kube::Json AppliedPart(const kube::Json& policy);

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

  // True when the last List() is complete.
  bool synced() const;
  const Index& index() const { return index_; }
  // How many policies of the namespace, or of all if it is empty, exceed kPolicyBudget.
  size_t LeftOut(const std::string& ns) const;

  // Every policy of this version or an older one is in the index. Versions of a list have no order:
  // during one, these are the versions before it.
  SeenVersions Seen();
  // Called when Seen() has risen by a new generation of a policy, and when a list is complete.
  void OnSeen(std::function<void()> seen) { on_seen_ = std::move(seen); }

 private:
  struct Known {
    int64_t generation = 0;
    uint64_t version = 0;
    bool left_out = false;
  };
  // The watch of one kind of policies.
  struct Kind {
    Kind(kube::Client& client, kube::Clock& clock, Scope of);

    Scope scope;
    kube::Informer<kube::Unstructured> informer;
    std::unordered_map<kube::ObjectKey, Known> known;
    uint64_t seen = 0;
  };
  struct Watches;

  void OnPolicy(Kind& kind, kube::EventType type, const kube::Unstructured& object);
  // Waits for the first list of a kind, or of the namespaces (nullptr).
  kube::asio::awaitable<void> OnSync(kube::Async<> sync, Kind* kind);
  // What is known is all up to its highest version.
  static void CountSeen(Kind& kind);
  void CountLeftOut(const std::string& ns, const Known* before, const Known* after);

  kube::Client& client_;
  kube::Clock& clock_;
  std::function<void()> on_seen_;
  kube::Notifier wake_;
  bool list_ = false;
  Index index_;
  std::unordered_map<std::string, size_t> left_out_;  // by namespace
  size_t all_left_out_ = 0;
  // nullptr before the first List().
  std::unique_ptr<Watches> watches_;
};

}  // namespace policy
