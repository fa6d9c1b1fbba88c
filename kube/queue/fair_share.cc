// SPDX-License-Identifier: Apache-2.0
#include "kube/queue/fair_share.h"

#include <iterator>
#include <utility>
#include <vector>

namespace kube {

bool FairShare::HasRoom(const Namespace& ns) const {
  if (ns.taken >= options_.per_namespace) return false;
  if (taken_ < options_.total) return true;
  return options_.first_always_enters && ns.taken == 0 && taken_ < options_.most;
}

bool FairShare::Enter(const ObjectKey& pod) {
  if (shares_.contains(pod)) return true;
  if (queued_.contains(pod)) return false;
  Namespace& ns = namespaces_[pod.ns];
  if (ns.queue.empty() && HasRoom(ns)) {
    Set(pod, 1);
    return true;
  }
  ns.queue.push_back(pod);
  queued_[pod] = std::prev(ns.queue.end());
  TakeTurn(pod.ns, ns);
  return false;
}

void FairShare::Take(const ObjectKey& pod, size_t amount) {
  if (!shares_.contains(pod)) return;
  Set(pod, amount > 0 ? amount : 1);
  WakeNext();
}

void FairShare::Leave(const ObjectKey& pod) {
  if (auto waits = queued_.find(pod); waits != queued_.end()) {
    namespaces_[pod.ns].queue.erase(waits->second);
    queued_.erase(waits);
  } else if (!shares_.contains(pod)) {
    return;
  }
  Set(pod, 0);
  WakeNext();
  ForgetIdle(pod.ns);
}

void FairShare::Set(const ObjectKey& pod, size_t amount) {
  auto found = shares_.find(pod);
  size_t before = found == shares_.end() ? 0 : found->second;
  Namespace& ns = namespaces_[pod.ns];
  ns.taken += amount - before;
  taken_ += amount - before;
  if (amount > 0) {
    shares_[pod] = amount;
  } else if (found != shares_.end()) {
    shares_.erase(found);
  }
}

void FairShare::TakeTurn(const std::string& name, Namespace& ns) {
  if (ns.in_turn || ns.queue.empty()) return;
  ns.in_turn = true;
  turns_.push_back(name);
}

void FairShare::ForgetIdle(const std::string& name) {
  auto found = namespaces_.find(name);
  if (found == namespaces_.end()) return;
  const Namespace& ns = found->second;
  if (ns.taken == 0 && ns.queue.empty() && !ns.in_turn) namespaces_.erase(found);
}

// Wakes queued pods while there is room, one pod of each namespace in turn.
void FairShare::WakeNext() {
  std::vector<ObjectKey> woken;
  // The number of namespaces in a row without room; if all of them, there is none.
  size_t skipped = 0;
  while (!turns_.empty() && skipped < turns_.size()) {
    std::string name = std::move(turns_.front());
    turns_.pop_front();
    Namespace& ns = namespaces_[name];
    ns.in_turn = false;
    if (ns.queue.empty()) {
      ForgetIdle(name);
      continue;
    }
    if (HasRoom(ns)) {
      skipped = 0;
      ObjectKey pod = std::move(ns.queue.front());
      ns.queue.pop_front();
      queued_.erase(pod);
      Set(pod, 1);
      woken.push_back(std::move(pod));
    } else {
      ++skipped;
    }
    TakeTurn(name, ns);
  }
  if (!wake_) return;
  for (const ObjectKey& pod : woken) wake_(pod);
}

}  // namespace kube
