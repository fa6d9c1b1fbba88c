// SPDX-License-Identifier: Apache-2.0
// WorkQueue: the keys of the objects to reconcile, each at most once in the queue and never with
// two workers at a time.
//
//   queue.Add(key);                                            // from an informer's event
//   Result<ObjectKey> key = co_await queue.Next();             // a worker
//   ... queue.Forget(*key) on success, queue.AddRateLimited(*key) on failure ...
//   queue.Done(*key);
//
// The semantics are client-go's: a key that is added while a worker has it is queued again after
// Done(), not before. First in, first out. Thread: one executor, the one that Next() is awaited on;
// no timer runs before the first call.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "kube/base/alarm.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/types/resource.h"

namespace kube {

// Observes a queue, for metrics.
class WorkQueueObserver {
 public:
  virtual ~WorkQueueObserver() = default;
  virtual void OnDepth(size_t depth) = 0;
  virtual void OnAdded() = 0;
  virtual void OnRetried() = 0;
  // Next() returned a key at `now` that was added at `since`.
  virtual void OnTaken(TimePoint since, TimePoint now) = 0;
  // Done() was called at `now` for a key taken at `since`.
  virtual void OnDone(TimePoint since, TimePoint now) = 0;
};

struct WorkQueueOptions {
  // The first delay of AddRateLimited(); doubles per failure of the same key.
  Duration base_delay = std::chrono::milliseconds(5);
  // The longest. client-go has 1000 s: much longer than most outages.
  Duration max_delay = std::chrono::seconds(30);
  // Upper bound of a Retry-After.
  Duration max_retry_after = std::chrono::seconds(30);
};

class WorkQueue {
 public:
  // `clock` and `observer` (may be null) outlive the queue.
  explicit WorkQueue(Clock& clock, WorkQueueOptions options = {},
                     WorkQueueObserver* observer = nullptr);

  void Add(const ObjectKey& key);
  // Adds the key after `delay`. If a key has several pending delays, the shortest counts.
  void AddAfter(const ObjectKey& key, Duration delay);
  // Adds the key after its backoff, or after `at_least` (a Retry-After) if that is longer.
  void AddRateLimited(const ObjectKey& key, Duration at_least = Duration::zero());
  // Resets the key's backoff after a success.
  void Forget(const ObjectKey& key);
  // The object is gone: drops the key's backoff and delay.
  void Drop(const ObjectKey& key);

  // The next key; the caller must call Done() for it.
  // Errors: kCancelled if the caller is cancelled or the queue was shut down.
  Async<ObjectKey> Next();
  void Done(const ObjectKey& key);

  // Keys that wait for a worker, without the delayed ones and those that workers have.
  size_t size() const { return ready_.size(); }
  // True from Next() to Done().
  bool working(const ObjectKey& key) const { return working_.contains(key); }
  // Calls of AddRateLimited() since the last Forget().
  int failures(const ObjectKey& key) const;

  // Drops all keys and ignores later ones; Next() fails with kCancelled.
  void ShutDown();

 private:
  void Push(const ObjectKey& key);
  void MoveDue();
  using Due = std::unordered_map<ObjectKey, TimePoint>::iterator;
  void EraseDelayed(Due due);
  void SetAlarm();

  Clock& clock_;
  WorkQueueOptions options_;
  WorkQueueObserver* observer_;
  bool shut_down_ = false;
  // Set by the first Next().
  std::optional<Executor> executor_;

  // `wanted_` has each added key once, with the time when it was added; `ready_` those that no
  // worker has.
  std::deque<ObjectKey> ready_;
  std::unordered_map<ObjectKey, TimePoint> wanted_;
  std::unordered_map<ObjectKey, TimePoint> working_;
  std::unordered_map<ObjectKey, TimePoint> due_;
  std::multimap<TimePoint, const ObjectKey*> delayed_;  // the keys of `due_`
  std::unordered_map<ObjectKey, int> failures_;
  Notifier added_;
  Alarm alarm_;
};

}  // namespace kube
