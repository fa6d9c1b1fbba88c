// SPDX-License-Identifier: Apache-2.0
// FairShare: shares a scarce resource (bytes of memory, workers) among pods, fairly by namespace.
//
//   if (!memory.Enter(pod)) co_return Later();       // queued; `wake` is called on the pod's turn
//   memory.Take(pod, bytes);                         // the amount, once it is known
//   ...
//   memory.Leave(pod);                               // returns its share, or leaves the queue
//
// A queued pod costs the memory of its key. Namespaces take turns; the pods of a namespace are
// served in order. A pod that was woken keeps its place until it leaves. Thread: one.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "kube/types/resource.h"

namespace kube {

struct FairShareOptions {
  // A pod may enter while less than this is taken by its namespace, and by all.
  size_t per_namespace = 0;
  size_t total = 0;
  // A pod of a namespace that holds nothing enters even if `total` is taken, while less than `most`
  // is.
  bool first_always_enters = false;
  size_t most = std::numeric_limits<size_t>::max();
};

class FairShare {
 public:
  explicit FairShare(FairShareOptions options) : options_(options) {}

  void OnTurn(std::function<void(const ObjectKey&)> wake) { wake_ = std::move(wake); }

  // True if the pod holds a share: 1 if it just entered. Otherwise it is queued.
  bool Enter(const ObjectKey& pod);
  // Sets the share of a pod that has entered.
  void Take(const ObjectKey& pod, size_t amount);
  void Leave(const ObjectKey& pod);

  size_t taken() const { return taken_; }
  size_t queued() const { return queued_.size(); }

 private:
  struct Namespace {
    size_t taken = 0;
    std::list<ObjectKey> queue;
    bool in_turn = false;
  };

  bool HasRoom(const Namespace& ns) const;
  void Set(const ObjectKey& pod, size_t amount);
  void TakeTurn(const std::string& name, Namespace& ns);
  void ForgetIdle(const std::string& name);
  void WakeNext();

  FairShareOptions options_;
  std::function<void(const ObjectKey&)> wake_;
  std::unordered_map<ObjectKey, size_t> shares_;
  std::unordered_map<ObjectKey, std::list<ObjectKey>::iterator> queued_;
  std::unordered_map<std::string, Namespace> namespaces_;
  std::list<std::string> turns_;  // namespaces with queued pods
  size_t taken_ = 0;
};

}  // namespace kube
