// SPDX-License-Identifier: Apache-2.0
// Leadership: work in terms, each from when this process acquires a Lease until it loses it or is
// to stop.
//
//   Leadership leadership(app, client, {.ns = "ours", .name = "operator"});
//   co_await leadership.Run([&](TaskGroup& tasks) { return std::make_unique<Leader>(client, tasks);
//   });
//
// A lost term (an API server that was away, another holder) ends the work, not the process. What is
// under way when a term ends gets a moment to finish, then its calls are cancelled, then the term
// is destroyed. So no call outlives its term: if a task runs on all the same, the process ends
// before anything that it uses is destroyed. Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/leader_election.h"

namespace kube {

// The work of one term.
class Term {
 public:
  // All tasks of the term have ended.
  virtual ~Term() = default;
  // The first task of the term: starts the others in `tasks`, may wait for the API server before,
  // and ends.
  virtual asio::awaitable<void> Run(TaskGroup& tasks) = 0;
};

class Leadership {
 public:
  // Makes the work of a term, whose tasks are all in `tasks`.
  using NewTerm = std::function<std::unique_ptr<Term>(TaskGroup& tasks)>;

  // `app` and `client` outlive this.
  Leadership(App& app, Client& client, LeaseOptions lease)
      : app_(app), elector_(client, app.clock(), std::move(lease)) {}

  // Term after term, until cancelled; then the last one has ended and the Lease is released.
  asio::awaitable<void> Run(NewTerm new_term);

 private:
  // One term. False when asked to stop.
  asio::awaitable<bool> LeadOnce(const NewTerm& new_term);

  App& app_;
  LeaderElector elector_;
};

}  // namespace kube
