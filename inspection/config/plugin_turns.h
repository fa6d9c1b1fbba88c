// SPDX-License-Identifier: Apache-2.0
// PluginTurns: which programs of a credential provider run at a time, where tenants decide how many
// are wanted. Namespaces take turns, and none waits for longer than its deadline.
//
//   Result<PluginTurns::Turn> turn = co_await turns->Take(ns, clock.Now() + kPluginTurnTimeout);
//   if (!turn) co_return turn.error();
//   ...                                   // until the last copy of the turn is destroyed
//
// Thread: one.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

class PluginTurns : public std::enable_shared_from_this<PluginTurns> {
 public:
  static constexpr size_t kMaxAtOnce = 4;
  // Of one namespace.
  static constexpr size_t kMaxNamespace = 2;

  // Keeps the object alive.
  using Turn = std::shared_ptr<void>;

  // `clock` outlives all turns.
  explicit PluginTurns(kube::Clock& clock) : clock_(clock) {}
  PluginTurns(const PluginTurns&) = delete;
  PluginTurns& operator=(const PluginTurns&) = delete;

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
    return running_ < kMaxAtOnce && ns.running < kMaxNamespace;
  }
  Turn NewTurn(const std::string& ns);
  void End(const std::string& ns);
  void StartNext();
  void Leave(const std::string& ns, Waiter* waiter);

  kube::Clock& clock_;
  size_t running_ = 0;
  std::map<std::string, Namespace> namespaces_;
  std::list<std::string> order_;  // the namespaces that wait, the next one first
};

}  // namespace inspection
