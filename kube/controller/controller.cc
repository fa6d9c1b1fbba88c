// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/controller.h"

#include <glog/logging.h>

#include <cstdio>
#include <random>

namespace kube {
namespace {

// Messages contain text from the cluster and from remote servers, which must not inject log lines.
std::string OneLine(const std::string& text) {
  constexpr size_t kMaxLength = 2000;
  std::string line;
  for (unsigned char c : text.substr(0, kMaxLength))
    line += c < 0x20 || c == 0x7f ? ' ' : static_cast<char>(c);
  return line;
}

}  // namespace

Controller::Controller(ControllerOptions options, Reconciler& reconciler, Clock& clock,
                       ControllerObserver* observer)
    : options_(std::move(options)),
      reconciler_(reconciler),
      clock_(clock),
      observer_(observer),
      queue_(clock, options_.queue, observer),
      last_id_(std::random_device()()) {}

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
  VLOG(2) << "controller=" << options_.name << " object=" << OneLine(key.ToString())
          << " reconcile=" << id << " starts";

  TimePoint start = clock_.Now();
  Result<Outcome> result = Outcome::Done();
  bool panicked = false;
  // A bug triggered by one object must not stop the work on all others.
  try {
    Request request{key};
    result = co_await reconciler_.Reconcile(std::move(request));
  } catch (const std::exception& e) {
    panicked = true;
    result = Error::Internal(std::string("unexpected exception: ") + e.what());
  }
  HandleResult(key, result, id, panicked, clock_.Now() - start);
  queue_.Done(key);
}

void Controller::HandleResult(const ObjectKey& key, const Result<Outcome>& result,
                              std::string_view id, bool panicked, Duration took) {
  using Ending = ControllerObserver::Ending;
  Ending ending = Ending::kSuccess;
  if (result) {
    queue_.Forget(key);
    if (result->delay()) {
      ending = Ending::kRequeueAfter;
      queue_.AddAfter(key, *result->delay());
    }
  } else if (result.error().code() == Code::kConflict && !result.error().terminal()) {
    ending = Ending::kRequeue;
    queue_.AddRateLimited(key);
    VLOG(1) << "controller=" << options_.name << " object=" << OneLine(key.ToString())
            << " reconcile=" << id << " conflict: " << OneLine(result.error().message());
  } else if (result.error().code() == Code::kCancelled) {
    // Asked to stop: the next leader reconciles all objects.
    ending = Ending::kRequeue;
    VLOG(1) << "controller=" << options_.name << " object=" << OneLine(key.ToString())
            << " reconcile=" << id << " cancelled";
    queue_.AddRateLimited(key);
  } else {
    bool terminal = result.error().terminal();
    ending = terminal ? Ending::kTerminalError : Ending::kError;
    LOG(ERROR) << "controller=" << options_.name << " object=" << OneLine(key.ToString())
               << " reconcile=" << id << " attempts=" << queue_.failures(key) + 1
               << (terminal ? " terminal" : "") << " error=" << OneLine(result.error().ToString());
    if (terminal) {
      queue_.Forget(key);
    } else {
      queue_.AddRateLimited(key, result.error().retry_after().value_or(std::chrono::seconds(0)));
    }
  }
  if (observer_ != nullptr) observer_->OnReconciled(ending, panicked, took);
}

}  // namespace kube
