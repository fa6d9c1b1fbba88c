// SPDX-License-Identifier: Apache-2.0
// Controller: a work queue, its workers, and the handling of each reconcile's outcome.
//
//   Controller pods({.name = "pod-labeler", .workers = 4}, reconciler, clock, &metrics);
//   informer.OnChange([&](EventType, const ObjectKey& pod) { pods.Enqueue(pod); });
//   tasks.Spawn("pod-labeler", pods.Run(tasks));
//
// Errors are logged here and nowhere below, one line each: "controller=pod-labeler object=ns/web
// reconcile=7f3a ...". Reconcilers start their lines about an object with Request::log. Thread: one
// executor. The controller outlives its tasks.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/controller/reconciler.h"
#include "kube/queue/work_queue.h"

namespace kube {

// Observes a controller and its queue, for metrics.
class ControllerObserver : public WorkQueueObserver {
 public:
  enum class Ending { kSuccess, kRequeueAfter, kRequeue, kError, kTerminalError };
  virtual void OnActiveWorkers(int workers) = 0;
  // A reconcile ended; `panicked`: by an exception. A conflict counts as kRequeue.
  virtual void OnReconciled(Ending ending, bool panicked, Duration took) = 0;
};

struct ControllerOptions {
  // Unique in the process: a label of log lines and metrics.
  std::string name;
  // Maximum concurrent reconciles, of different keys.
  int workers = 1;
  WorkQueueOptions queue;
};

class Controller {
 public:
  // `reconciler`, `clock` and `observer` (may be null) outlive the controller.
  Controller(ControllerOptions options, Reconciler& reconciler, Clock& clock,
             ControllerObserver* observer = nullptr);

  void Enqueue(const ObjectKey& key) { queue_.Add(key); }
  void EnqueueAfter(const ObjectKey& key, Duration delay) { queue_.AddAfter(key, delay); }

  // Runs the workers in `tasks` until cancelled. Then no new reconcile starts, and Run ends when
  // those in flight have finished; they are cancelled only at the end of TaskGroup::Stop()'s grace.
  asio::awaitable<void> Run(TaskGroup& tasks);

  const std::string& name() const { return options_.name; }
  WorkQueue& queue() { return queue_; }

 private:
  asio::awaitable<void> Work();
  asio::awaitable<void> ReconcileOne(ObjectKey key);
  // `log`: as in Request.
  void HandleResult(const ObjectKey& key, const Result<Outcome>& result, const std::string& log,
                    bool panicked, Duration took);

  ControllerOptions options_;
  Reconciler& reconciler_;
  Clock& clock_;
  ControllerObserver* observer_;
  WorkQueue queue_;
  int workers_ = 0;
  int active_ = 0;
  uint32_t last_id_;
  Notifier worker_ended_;
};

}  // namespace kube
