// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/leadership.h"

#include <glog/logging.h>

namespace kube {
namespace {

using namespace std::chrono_literals;

// For what is under way when the Lease is lost. Others may acquire it five seconds later: they are
// not to find a call of this process still going on.
constexpr Duration kFinishWithin = 4s;

}  // namespace

asio::awaitable<void> Leadership::Run(NewTerm new_term) {
  co_await IgnoreCancellation();
  while (true) {
    Result<> acquired = co_await elector_.Acquire();
    if (!acquired) co_return;
    bool again = co_await LeadOnce(new_term);
    if (!again) co_return;
  }
}

asio::awaitable<bool> Leadership::LeadOnce(const NewTerm& new_term) {
  TaskGroup tasks(app_.executor());
  std::unique_ptr<Term> term = new_term(tasks);
  // An API server that is away keeps the term's start waiting; the Lease is to be renewed, or lost,
  // meanwhile.
  tasks.Spawn("term", term->Run(tasks));
  Result<> held = co_await elector_.Hold();
  bool asked = FailedWith(held, Code::kCancelled);
  LOG_IF(WARNING, !asked) << "the term of leadership ends: " << held.error();

  Duration limit = asked ? app_.grace_left() : kFinishWithin;
  Result<> ended = co_await app_.EndTasks(tasks, limit);
  asked = asked || !ended;
  term.reset();
  // If it is still ours: the next leader need not wait until it expires.
  Result<> released = co_await elector_.Release();
  LOG_IF(WARNING, !released) << released.error();
  bool cancelled = co_await IsCancelled();
  co_return !asked && !cancelled;
}

}  // namespace kube
