// SPDX-License-Identifier: Apache-2.0
// NamespaceTurns: how many of something run at a time, where tenants decide how many are wanted.
// Namespaces take turns, and none waits for longer than its deadline.
//
//   NamespaceTurns::Limits limits{.at_once = 4, .per_namespace = 2, .about = "wait for a turn"};
//   auto turns = std::make_shared<NamespaceTurns>(clock, limits);
//   Result<NamespaceTurns::Turn> turn = co_await turns->Take(ns, deadline);
//   if (!turn) co_return turn.error();
//   ...                                   // until the last copy of the turn is destroyed
//
// Thread: one.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

class NamespaceTurns : public std::enable_shared_from_this<NamespaceTurns> {
 public:
  struct Limits {
    size_t at_once;
    size_t per_namespace;
    std::string about;  // for errors: names both numbers
  };

  // Keeps the object alive.
  using Turn = std::shared_ptr<void>;

  // `clock` outlives all turns.
  NamespaceTurns(kube::Clock& clock, Limits limits) : clock_(clock), limits_(std::move(limits)) {}
  NamespaceTurns(const NamespaceTurns&) = delete;
  NamespaceTurns& operator=(const NamespaceTurns&) = delete;

  // Errors: kDeadlineExceeded, kCancelled.
  kube::Async<Turn> Take(std::string ns, kube::TimePoint deadline);

 private:
  struct Waiter;
  // Exists while it has a turn or waits for one.
  struct Namespace {
    size_t running = 0;
    std::list<Waiter*> waiting;  // in order of arrival
  };

  bool MayRun(const Namespace& ns) const {
    return running_ < limits_.at_once && ns.running < limits_.per_namespace;
  }
  Turn NewTurn(const std::string& ns);
  void End(const std::string& ns);
  void StartNext();
  void Leave(const std::string& ns, Waiter* waiter);

  kube::Clock& clock_;
  Limits limits_;
  size_t running_ = 0;
  std::map<std::string, Namespace> namespaces_;
  std::list<std::string> order_;  // the namespaces that wait, the next one first
};

}  // namespace inspection
