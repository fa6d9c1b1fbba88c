// SPDX-License-Identifier: Apache-2.0
// Leadership: runs work in terms of leadership, each from acquiring a Lease until the Lease is lost
// or the process is asked to stop.
//
//   Leadership leadership(app, client, {.ns = "system", .name = "operator"});
//   co_await leadership.Run([&](TaskGroup& tasks, Client& client) {
//     return std::make_unique<Leader>(client, tasks);
//   });
//
// A lost Lease (API server unavailable, another holder) ends the term, not the process. At the end
// of a term its tasks may finish within a few seconds, then their calls are cancelled, then the
// term is destroyed. No call outlives its term: if a task does not end even then, the process exits
// before anything that the task uses is destroyed. Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/leader_election.h"
#include "kube/controller/term_client.h"

namespace kube {

// The work of one term.
class Term {
 public:
  // Called after all tasks of the term have ended.
  virtual ~Term() = default;
  // The first task of the term: spawns the others in `tasks` and ends. May wait for the API server.
  virtual asio::awaitable<void> Run(TaskGroup& tasks) = 0;
};

class Leadership {
 public:
  // Creates the work of a term; all its tasks must be in `tasks`. What only the leader may write,
  // it writes with `client` (term_client.h).
  using NewTerm = std::function<std::unique_ptr<Term>(TaskGroup& tasks, Client& client)>;

  // `app` and `client` outlive this.
  Leadership(App& app, Client& client, LeaseOptions lease)
      : app_(app),
        elector_(client, app.clock(), std::move(lease)),
        term_client_(client, elector_) {}

  // Runs one term after another until cancelled; then the last term has ended and the Lease is
  // released.
  asio::awaitable<void> Run(NewTerm new_term);

 private:
  // Runs one term. False when asked to stop.
  asio::awaitable<bool> LeadOnce(const NewTerm& new_term);

  App& app_;
  LeaderElector elector_;
  TermClient term_client_;
};

}  // namespace kube
