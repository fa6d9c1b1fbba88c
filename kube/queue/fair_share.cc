// SPDX-License-Identifier: Apache-2.0
#include "kube/queue/fair_share.h"

#include <iterator>
#include <utility>
#include <vector>

namespace kube {

bool FairShare::HasRoom(const Namespace& ns) const {
  if (ns.taken >= options_.per_namespace) return false;
  return taken_ < options_.total || (options_.first_always_enters && ns.taken == 0);
}

bool FairShare::Enter(const ObjectKey& pod) {
  if (has_.contains(pod)) return true;
  if (in_line_.contains(pod)) return false;
  Namespace& ns = namespaces_[pod.ns];
  if (ns.line.empty() && HasRoom(ns)) {
    Set(pod, 1);
    return true;
  }
  ns.line.push_back(pod);
  in_line_[pod] = std::prev(ns.line.end());
  TakeTurn(pod.ns, ns);
  return false;
}

void FairShare::Take(const ObjectKey& pod, size_t amount) {
  if (!has_.contains(pod)) return;
  Set(pod, amount > 0 ? amount : 1);
  WakeNext();
}

void FairShare::Leave(const ObjectKey& pod) {
  if (auto waits = in_line_.find(pod); waits != in_line_.end()) {
    namespaces_[pod.ns].line.erase(waits->second);
    in_line_.erase(waits);
  } else if (!has_.contains(pod)) {
    return;
  }
  Set(pod, 0);
  WakeNext();
  ForgetIdle(pod.ns);
}

void FairShare::Set(const ObjectKey& pod, size_t amount) {
  auto found = has_.find(pod);
  size_t before = found == has_.end() ? 0 : found->second;
  Namespace& ns = namespaces_[pod.ns];
  ns.taken += amount - before;
  taken_ += amount - before;
  if (amount > 0) {
    has_[pod] = amount;
  } else if (found != has_.end()) {
    has_.erase(found);
  }
}

void FairShare::TakeTurn(const std::string& name, Namespace& ns) {
  if (ns.in_turn || ns.line.empty()) return;
  ns.in_turn = true;
  turns_.push_back(name);
}

void FairShare::ForgetIdle(const std::string& name) {
  auto found = namespaces_.find(name);
  if (found == namespaces_.end()) return;
  const Namespace& ns = found->second;
  if (ns.taken == 0 && ns.line.empty() && !ns.in_turn) namespaces_.erase(found);
}

// Gives what is free to the lines: one pod of each namespace after the other.
void FairShare::WakeNext() {
  std::vector<ObjectKey> woken;
  // As many namespaces in a row that have no room: none has.
  size_t skipped = 0;
  while (!turns_.empty() && skipped < turns_.size()) {
    std::string name = std::move(turns_.front());
    turns_.pop_front();
    Namespace& ns = namespaces_[name];
    ns.in_turn = false;
    if (ns.line.empty()) {
      ForgetIdle(name);
      continue;
    }
    if (HasRoom(ns)) {
      skipped = 0;
      ObjectKey pod = std::move(ns.line.front());
      ns.line.pop_front();
      in_line_.erase(pod);
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
