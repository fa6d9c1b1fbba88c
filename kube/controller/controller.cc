// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/controller.h"

#include <glog/logging.h>

#include <cstdio>

#include "kube/base/one_line.h"
#include "kube/base/random.h"

namespace kube {

Controller::Controller(ControllerOptions options, Reconciler& reconciler, Clock& clock,
                       ControllerObserver* observer)
    : options_(std::move(options)),
      reconciler_(reconciler),
      clock_(clock),
      observer_(observer),
      queue_(clock, options_.queue, observer),
      last_id_(RandomSeed()) {}

asio::awaitable<void> Controller::Run(TaskGroup& tasks) {
  co_await IgnoreCancellation();
  workers_ = options_.workers;
  for (int i = 0; i < options_.workers; ++i)
    tasks.Spawn(options_.name + "-worker-" + std::to_string(i), Work());

  // Workers end when the queue is shut down, which happens when this task is cancelled.
  while (workers_ > 0) {
    Result<> waited = co_await worker_ended_.Wait();
    if (waited) continue;
    queue_.ShutDown();
    co_await ForgetCancellation();
  }
}

asio::awaitable<void> Controller::Work() {
  co_await IgnoreCancellation();
  // Finishes the reconcile in flight, if it ends within the grace.
  co_await FinishWhenStopped();
  while (true) {
    Result<ObjectKey> key = co_await queue_.Next();
    if (!key) break;
    if (observer_ != nullptr) observer_->OnActiveWorkers(++active_);
    co_await ReconcileOne(*key);
    if (observer_ != nullptr) observer_->OnActiveWorkers(--active_);
  }
  --workers_;
  worker_ended_.NotifyAll();
}

asio::awaitable<void> Controller::ReconcileOne(ObjectKey key) {
  char id[9];
  std::snprintf(id, sizeof id, "%08x", ++last_id_);
  std::string log = "controller=" + options_.name + " object=" + OneLine(key.ToString());
  log += " reconcile=" + std::string(id);
  VLOG(2) << log << " begins";

  TimePoint start = clock_.Now();
  Result<Outcome> result = Outcome::Done();
  bool panicked = false;
  // A bug triggered by one object must not stop the work on all others.
  try {
    Request request{key, log};
    result = co_await reconciler_.Reconcile(std::move(request));
  } catch (const std::exception& e) {
    panicked = true;
    result = Error::Internal(std::string("unexpected exception: ") + e.what());
  }
  HandleResult(key, result, log, panicked, clock_.Now() - start);
  queue_.Done(key);
}

void Controller::HandleResult(const ObjectKey& key, const Result<Outcome>& result,
                              const std::string& log, bool panicked, Duration took) {
  using Ending = ControllerObserver::Ending;
  auto milliseconds = [](Duration time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  Ending ending = Ending::kSuccess;
  if (result) {
    queue_.Forget(key);
    if (result->delay()) {
      ending = Ending::kRequeueAfter;
      queue_.AddAfter(key, *result->delay());
      VLOG(2) << log << " ends after " << milliseconds(took) << " ms, again in "
              << result->delay()->count() << " ms";
    } else {
      VLOG(2) << log << " ends after " << milliseconds(took) << " ms";
    }
  } else if (result.error().code() == Code::kConflict && !result.error().terminal()) {
    ending = Ending::kRequeue;
    queue_.AddRateLimited(key);
    VLOG(1) << log << " conflict: " << OneLine(result.error().message());
  } else if (result.error().code() == Code::kCancelled) {
    // Asked to stop: the next leader reconciles all objects.
    ending = Ending::kRequeue;
    VLOG(1) << log << " cancelled";
    queue_.AddRateLimited(key);
  } else {
    bool terminal = result.error().terminal();
    ending = terminal ? Ending::kTerminalError : Ending::kError;
    LOG(ERROR) << log << " attempts=" << queue_.failures(key) + 1 << (terminal ? " terminal" : "")
               << " error=" << OneLine(result.error().ToString());
    if (terminal) {
      queue_.Forget(key);
    } else {
      queue_.AddRateLimited(key, result.error().retry_after().value_or(std::chrono::seconds(0)));
    }
  }
  if (observer_ != nullptr) observer_->OnReconciled(ending, panicked, took);
}

}  // namespace kube
