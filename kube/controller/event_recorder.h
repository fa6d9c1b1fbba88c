// SPDX-License-Identifier: Apache-2.0
// EventRecorder: core/v1 Events about objects, at a low priority. An event costs the API server as
// much as a write, so events wait in a bounded queue until nothing urgent has been going on for a
// moment, and then go out several at a time. Where there is no such moment, an event that has
// waited for `max_wait` goes out all the same, one at a time. An API server that is away loses no
// event: the queue waits for it.
//
//   EventRecorder events(client, clock, {.component = "shard", .busy = [&] { return
//   pods.queue().size() > 0; }}); tasks.Spawn("events", events.Run());
//   events.Record(ReferenceTo(pod), /*warning=*/false, "Placed", "on arm64");      // never waits
//
// Thread: the client's.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace kube {

// Told what becomes of events; for metrics.
class EventObserver {
 public:
  virtual ~EventObserver() = default;
  virtual void OnWaiting(size_t events) = 0;
  virtual void OnDropped(size_t events) = 0;
};

struct EventRecorderOptions {
  // Source of the events.
  std::string component;
  // Events that wait, about 500 bytes each; one more is dropped.
  size_t capacity = 10'000;
  // True while there is more urgent work, of which a new event is a sign as well; empty: there
  // never is. Asked each `poll`.
  std::function<bool()> busy;
  Duration poll = std::chrono::milliseconds(100);
  // How long there must have been none: work that comes pod after pod leaves gaps.
  Duration settle = std::chrono::milliseconds(200);
  // An event that has waited this long waits no longer for that, only for its turn.
  Duration max_wait = std::chrono::seconds(3);
  // Events in flight when there is no urgent work.
  size_t senders = 8;
  // The first wait for an API server that is away or asks for fewer calls; doubles up to
  // `max_backoff`.
  Duration backoff = std::chrono::milliseconds(500);
  Duration max_backoff = std::chrono::seconds(10);
  // An event that could not be sent for so long is dropped.
  Duration max_age = std::chrono::minutes(10);
  // How long a stop takes at most to send what is left.
  Duration flush = std::chrono::seconds(4);
  // May be null; outlives the recorder.
  EventObserver* observer = nullptr;
};

class EventRecorder {
 public:
  // `client` and `clock` outlive the recorder.
  EventRecorder(Client& client, Clock& clock, EventRecorderOptions options);

  // Queues an event, or counts one more of an equal event that still waits. In a full queue a
  // warning takes the place of another event. `message` is cut to 1,024 bytes.
  void Record(const core::ObjectReference& about, bool warning, std::string_view reason,
              std::string message);

  // Sends until cancelled, then flushes. Once at a time.
  asio::awaitable<void> Run();

  size_t size() const { return normals_.size() + warnings_.size(); }
  // Events that found the queue full, were refused by the API server, waited for too long, or were
  // left at the end.
  uint64_t dropped() const { return dropped_; }

 private:
  // Packed: a burst of pods leaves thousands.
  struct Waiting {
    size_t signature = 0;  // hash of all that makes two events equal
    std::string event;     // a serialized core::Event
    TimePoint since;
    int32_t count = 1;
    int64_t last_seconds = 0;  // of the last of `count`, since the epoch
  };
  using Queue = std::list<Waiting>;

  bool CountRepeat(size_t signature, const core::Event& event, int64_t seconds);
  Queue::iterator Insert(Queue& queue, Queue::iterator position, Waiting waiting);
  Waiting Take(Queue& queue, Queue::iterator position);
  Queue& Oldest() { return OldestIsWarning() ? warnings_ : normals_; }
  bool OldestIsWarning() const;
  void Drop(size_t events);
  void NotifyObserver();

  // True if there has been no urgent work for `settle`.
  bool IsQuiet();
  // How many events may be in flight now.
  size_t AtOnce();
  // How long the oldest event has to wait yet; zero: it may go.
  Duration Pause();
  // Starts a task in `senders` that sends the oldest event.
  void SendOldest(TaskGroup& senders);
  asio::awaitable<void> Send(Waiting waiting, bool warning);
  void Settle(Waiting waiting, bool warning, const Result<ApiResponse>& response, Duration took);
  std::string NewName(const std::string& object_name);

  Client& client_;
  Clock& clock_;
  EventRecorderOptions options_;
  // Oldest first.
  Queue normals_;
  Queue warnings_;
  std::unordered_map<size_t, std::pair<Queue*, Queue::iterator>> by_signature_;
  uint64_t sent_ = 0;
  uint64_t dropped_ = 0;
  uint64_t last_suffix_ = 0;
  TimePoint urgent_;     // when there was urgent work last
  TimePoint next_turn_;  // of an event that does not wait for a quiet moment
  size_t in_flight_ = 0;
  Duration backoff_{};  // zero while the API server takes events
  TimePoint away_until_;
  Notifier changed_;  // an event was added, or one in flight has ended
};

// A reference to `object`, complete enough for kubectl to list the event under it.
template <class T>
core::ObjectReference ReferenceTo(const T& object) {
  core::ObjectReference reference;
  reference.set_api_version(ResourceOf<T>::value.ApiVersion());
  reference.set_kind(std::string(ResourceOf<T>::value.kind));
  reference.set_namespace_(object.metadata().namespace_());
  reference.set_name(object.metadata().name());
  reference.set_uid(object.metadata().uid());
  reference.set_resource_version(object.metadata().resource_version());
  return reference;
}

}  // namespace kube
