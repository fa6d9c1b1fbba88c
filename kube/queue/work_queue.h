// SPDX-License-Identifier: Apache-2.0
// WorkQueue: which objects need a look, each at most once in the queue and never with two workers
// at a time.
//
//   queue.Add(key);                                            // from an informer's event
//   Result<ObjectKey> key = co_await queue.Next();             // a worker
//   ... queue.Forget(*key) on success, queue.AddRateLimited(*key) on failure ...
//   queue.Done(*key);
//
// The semantics are client-go's: a key that is added while it is being worked on comes again after
// Done(), not before. First in, first out. Thread: one executor, the one that Next() is awaited on;
// nothing runs before its first call.
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

// Told what happens to a queue; for metrics. Times are those of one key.
class WorkQueueObserver {
 public:
  virtual ~WorkQueueObserver() = default;
  virtual void OnDepth(size_t depth) = 0;
  virtual void OnAdded() = 0;
  virtual void OnRetried() = 0;
  // By Next(), at `now`; added at `since`.
  virtual void OnTaken(TimePoint since, TimePoint now) = 0;
  // By Done(), at `now`; taken at `since`.
  virtual void OnDone(TimePoint since, TimePoint now) = 0;
};

struct WorkQueueOptions {
  // The first delay of AddRateLimited(); doubles per failure of the same key.
  Duration base_delay = std::chrono::milliseconds(5);
  Duration max_delay = std::chrono::seconds(1000);
  // The longest time that a server may name.
  Duration max_retry_after = std::chrono::seconds(30);
};

class WorkQueue {
 public:
  // `clock` and `observer` (may be null) outlive the queue.
  explicit WorkQueue(Clock& clock, WorkQueueOptions options = {},
                     WorkQueueObserver* observer = nullptr);

  void Add(const ObjectKey& key);
  // Not before `delay` has passed. Of several pending delays of one key the shortest counts.
  void AddAfter(const ObjectKey& key, Duration delay);
  // After the key's own backoff, or `at_least` where the server named a longer time (Retry-After).
  void AddRateLimited(const ObjectKey& key, Duration at_least = Duration::zero());
  // The key went well: its backoff starts anew.
  void Forget(const ObjectKey& key);

  // The next key; the caller owes a Done().
  // Errors: kCancelled when the caller is cancelled or the queue has shut down and is drained.
  Async<ObjectKey> Next();
  void Done(const ObjectKey& key);

  // Keys that wait for a worker; those that are delayed or being worked on are not counted.
  size_t size() const { return ready_.size(); }
  // Times that AddRateLimited() has been called since the last Forget().
  int failures(const ObjectKey& key) const;

  enum class Rest { kHandOut, kDrop };
  // Nothing is added any more. What is ready is still handed out, or not; what is delayed is
  // dropped.
  void ShutDown(Rest rest = Rest::kHandOut);
  bool shut_down() const { return shut_down_; }

 private:
  void Push(const ObjectKey& key);
  void MoveDue();
  void SetAlarm();

  Clock& clock_;
  WorkQueueOptions options_;
  WorkQueueObserver* observer_;
  bool shut_down_ = false;
  // Known from the first Next() on.
  std::optional<Executor> executor_;

  // `wanted_` has each key that needs a look, once; those of them that are not being worked on are
  // in `ready_`.
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
