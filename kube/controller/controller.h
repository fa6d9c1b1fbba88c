// SPDX-License-Identifier: Apache-2.0
// Controller: a work queue, the workers that take from it, and what follows from each outcome.
//
//   Controller pods({.name = "shard-pod", .workers = 4}, reconciler, clock, &metrics);
//   informer.OnChange([&](EventType, const ObjectKey& pod) { pods.Enqueue(pod); });
//   tasks.Spawn("shard-pod", pods.Run(tasks));
//
// Errors are logged here and nowhere below, one line each: "controller=shard-pod object=ns/web
// reconcile=7f3a ...". Thread: one executor. The controller outlives its tasks.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/controller/reconciler.h"
#include "kube/queue/work_queue.h"

namespace kube {

// Told what a controller does, and its queue; for metrics.
class ControllerObserver : public WorkQueueObserver {
 public:
  enum class Ending { kSuccess, kRequeueAfter, kRequeue, kError, kTerminalError };
  virtual void OnActiveWorkers(int workers) = 0;
  // One reconcile ended; `panicked` if by an exception. A conflict is a kRequeue.
  virtual void OnReconciled(Ending ending, bool panicked, Duration took) = 0;
};

struct ControllerOptions {
  // Unique in the process: it names log lines and metrics.
  std::string name;
  // Reconciles at a time, of different keys.
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

  // Works in `tasks` until cancelled. Then no new reconcile starts, those under way are finished,
  // and Run ends. What a reconcile waits for is cancelled only when the grace of TaskGroup::Stop()
  // is over.
  asio::awaitable<void> Run(TaskGroup& tasks);

  const std::string& name() const { return options_.name; }
  WorkQueue& queue() { return queue_; }

 private:
  asio::awaitable<void> Work();
  asio::awaitable<void> ReconcileOne(ObjectKey key);
  void Settle(const ObjectKey& key, const Result<Outcome>& result, std::string_view id,
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
