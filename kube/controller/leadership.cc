// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/leadership.h"

#include <glog/logging.h>

namespace kube {
namespace {

using namespace std::chrono_literals;

// The time for the tasks of a term whose Lease was lost: another process may acquire the Lease five
// seconds later and must not race with calls of this one.
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
  std::unique_ptr<Term> term = new_term(tasks, term_client_);
  // Runs concurrently: the start of the term may wait for the API server while the Lease must be
  // renewed.
  tasks.Spawn("term", term->Run(tasks));
  Result<> held = co_await elector_.Hold();
  bool asked = FailedWith(held, Code::kCancelled);
  LOG_IF(WARNING, !asked) << "leadership lost: " << held.error();

  Duration limit = asked ? app_.grace_left() : kFinishWithin;
  Result<> ended = co_await app_.EndTasks(tasks, limit);
  asked = asked || !ended;
  term.reset();
  // Does nothing if another process holds the Lease. The next leader need not wait for its expiry.
  Result<> released = co_await elector_.Release();
  LOG_IF(WARNING, !released) << released.error();
  bool cancelled = co_await IsCancelled();
  co_return !asked && !cancelled;
}

}  // namespace kube
