// SPDX-License-Identifier: Apache-2.0
#include "kube/queue/work_queue.h"

#include <algorithm>

namespace kube {

WorkQueue::WorkQueue(Clock& clock, WorkQueueOptions options, WorkQueueObserver* observer)
    : clock_(clock), options_(options), observer_(observer), alarm_(clock, [this] { MoveDue(); }) {}

void WorkQueue::Add(const ObjectKey& key) {
  if (shut_down_) return;
  if (!wanted_.emplace(key, clock_.Now()).second) return;
  if (observer_ != nullptr) observer_->OnAdded();
  if (!working_.contains(key)) Push(key);
}

void WorkQueue::Push(const ObjectKey& key) {
  ready_.push_back(key);
  if (observer_ != nullptr) observer_->OnDepth(ready_.size());
  added_.NotifyOne();
}

void WorkQueue::AddAfter(const ObjectKey& key, Duration delay) {
  if (shut_down_) return;
  if (delay <= Duration::zero()) return Add(key);
  TimePoint when = clock_.Now() + delay;
  auto [pending, fresh] = due_.emplace(key, when);
  if (!fresh) {
    if (pending->second <= when) return;
    EraseDelayed(pending);
    pending->second = when;
  }
  delayed_.emplace(when, &pending->first);
  SetAlarm();
}

void WorkQueue::AddRateLimited(const ObjectKey& key, Duration at_least) {
  if (shut_down_) return;
  int failures = failures_[key]++;
  Duration delay = options_.base_delay;
  for (int i = 0; i < failures && delay < options_.max_delay; ++i) delay *= 2;
  delay = std::min(delay, options_.max_delay);
  if (observer_ != nullptr) observer_->OnRetried();
  AddAfter(key, std::max(delay, std::min(at_least, options_.max_retry_after)));
}

void WorkQueue::Forget(const ObjectKey& key) { failures_.erase(key); }

void WorkQueue::Drop(const ObjectKey& key) {
  Forget(key);
  auto due = due_.find(key);
  if (due == due_.end()) return;
  EraseDelayed(due);
  due_.erase(due);
}

void WorkQueue::EraseDelayed(Due due) {
  auto [first, last] = delayed_.equal_range(due->second);
  delayed_.erase(
      std::find_if(first, last, [&](const auto& entry) { return entry.second == &due->first; }));
}

int WorkQueue::failures(const ObjectKey& key) const {
  auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

void WorkQueue::MoveDue() {
  while (!delayed_.empty() && delayed_.begin()->first <= clock_.Now()) {
    auto due = due_.extract(*delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    Add(due.key());
  }
  SetAlarm();
}

void WorkQueue::SetAlarm() {
  if (!executor_ || delayed_.empty()) return;
  TimePoint first = delayed_.begin()->first;
  if (alarm_.set_to() && *alarm_.set_to() <= first) return;
  alarm_.Set(*executor_, first);
}

Async<ObjectKey> WorkQueue::Next() {
  if (!executor_) {
    auto executor = co_await asio::this_coro::executor;
    executor_ = executor;
    MoveDue();
  }
  while (ready_.empty()) {
    if (shut_down_) co_return Error::Cancelled("the queue has shut down");
    Result<> waited = co_await added_.Wait();
    if (!waited) co_return waited.error();
  }
  bool cancelled = co_await IsCancelled();
  if (cancelled) {
    added_.NotifyOne();  // pass the wake-up on to another worker
    co_return Error::Cancelled("next in queue");
  }

  ObjectKey key = std::move(ready_.front());
  ready_.pop_front();
  TimePoint now = clock_.Now();
  auto wanted = wanted_.find(key);
  if (observer_ != nullptr) {
    observer_->OnDepth(ready_.size());
    observer_->OnTaken(wanted->second, now);
  }
  wanted_.erase(wanted);
  working_.emplace(key, now);
  co_return key;
}

void WorkQueue::Done(const ObjectKey& key) {
  auto working = working_.find(key);
  if (working == working_.end()) return;
  if (observer_ != nullptr) observer_->OnDone(working->second, clock_.Now());
  working_.erase(working);
  if (wanted_.contains(key)) Push(key);
}

void WorkQueue::ShutDown() {
  shut_down_ = true;
  alarm_.Cancel();
  delayed_.clear();
  due_.clear();
  ready_.clear();
  wanted_.clear();
  if (observer_ != nullptr) observer_->OnDepth(0);
  added_.NotifyAll();
}

}  // namespace kube
