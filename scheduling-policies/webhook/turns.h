// SPDX-License-Identifier: Apache-2.0
// Turns: requests are decided one at a time, and namespaces take turns. A request waits for at most
// two of each other namespace, however many of them one namespace sends.
//
//   Result<Turns::Turn> turn = co_await turns.Wait(ns);
//   if (!turn) co_return turn.error();
//   ... decide, without waiting; the turn ends with `turn` ...
//
// Thread: one executor for this and its callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/notifier.h"
#include "kube/queue/fair_share.h"
#include "kube/types/resource.h"

namespace policy {

class Turns {
 public:
  // Ends when it is destroyed.
  class [[nodiscard]] Turn {
   public:
    Turn(Turns& turns, kube::ObjectKey request) : turns_(&turns), request_(std::move(request)) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), request_(std::move(other.request_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->End(request_);
    }

   private:
    Turns* turns_;
    kube::ObjectKey request_;
  };

  // `max_waiting`: requests that wait or have their turn. A namespace may have as many of them as
  // are left for others.
  explicit Turns(size_t max_waiting);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Returns when it is the turn of this request, after requests that have arrived are in line.
  // Errors: kThrottled if too many requests of the namespace wait; kCancelled.
  kube::Async<Turn> Wait(std::string ns);

 private:
  struct Waiter {
    bool woken = false;
    kube::Notifier changed;
  };

  void End(const kube::ObjectKey& request);

  const size_t max_waiting_;
  kube::FairShare share_{{.per_namespace = 1, .total = 1}};
  uint64_t last_ = 0;
  size_t count_ = 0;
  std::unordered_map<std::string, size_t> counts_;  // by namespace
  std::unordered_map<kube::ObjectKey, Waiter*> waiters_;
};

}  // namespace policy
