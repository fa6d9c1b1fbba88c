// SPDX-License-Identifier: Apache-2.0
// EventRecorder: writes core/v1 Events at low priority. An event costs the API server as much as
// any write, and the API has no request that creates several (docs/decisions/events.md). So events
// wait in a bounded queue until there has been no urgent work for a moment; then they are sent in
// sequence on one connection, and on more connections the more of them wait. During continuous
// urgent work, events older than `max_wait` are sent on one connection for half of the time, and
// for all of it if they still fall behind. While the API server is unavailable, events stay in the
// queue.
//
//   EventRecorder events(client, clock, {.component = "pod-labeler", .busy = busy});
//   tasks.Spawn("events", events.Run());
//   events.Record(ReferenceTo(pod), /*warning=*/false, "Labeled", "team=unknown");      // never
//   waits
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

// Observes the queue of events, for metrics.
class EventObserver {
 public:
  virtual ~EventObserver() = default;
  // Queued and in-flight events.
  virtual void OnWaiting(size_t events) = 0;
  // Events that found the queue full, were refused, expired, or were left at the stop.
  virtual void OnDropped(size_t events) = 0;
};

struct EventRecorderOptions {
  // The events' source.
  std::string component;
  // Returns whether to record an event; empty: every one.
  std::function<bool(const core::ObjectReference& about, bool warning, std::string_view reason)>
      wanted = nullptr;
  // Maximum queued events, about 500 bytes each; further ones are dropped.
  size_t capacity = 10'000;
  // Returns whether there is urgent work; called every `poll`. A new event counts as urgent work
  // too. Empty: never.
  std::function<bool()> busy;
  Duration poll = std::chrono::milliseconds(100);
  // How long there must have been no urgent work: a stream of pods leaves short gaps.
  Duration settle = std::chrono::milliseconds(200);
  // An event that has waited this long is sent despite urgent work, one at a time: first for half
  // of the time, from twice this long on without pauses, from three times on two at a time.
  Duration max_wait = std::chrono::seconds(3);
  // Most concurrent requests when there is no urgent work.
  size_t senders = 8;
  // First backoff while the API server is unavailable or throttles; doubles up to `max_backoff`.
  Duration backoff = std::chrono::milliseconds(500);
  Duration max_backoff = std::chrono::seconds(10);
  // An event that could not be sent for this long is dropped.
  Duration max_age = std::chrono::minutes(10);
  // Maximum time to send the remaining events at a stop.
  Duration flush = std::chrono::seconds(4);
  // May be null; outlives the recorder.
  EventObserver* observer = nullptr;
};

class EventRecorder {
 public:
  // `client` and `clock` outlive the recorder.
  EventRecorder(Client& client, Clock& clock, EventRecorderOptions options);

  // Queues an event, or increments the count of an equal queued event. If the queue is full, a
  // warning replaces a normal event. `message` is truncated to 1,024 bytes.
  void Record(const core::ObjectReference& about, bool warning, std::string_view reason,
              std::string message);

  // Sends until cancelled, then flushes. Must not run twice at a time.
  asio::awaitable<void> Run();

  size_t size() const { return normals_.size() + warnings_.size(); }

 private:
  // Encoded: a burst of pods queues thousands of events.
  struct Waiting {
    size_t signature = 0;  // hash of the fields in which equal events agree
    std::string ns;
    std::string body;  // of the request, if the event is not repeated
    TimePoint since;
    int32_t count = 1;
    int64_t last_seconds = 0;  // time of the last repetition, since the epoch
  };
  using Queue = std::list<Waiting>;

  bool CountRepeat(size_t signature, const core::Event& event, int64_t seconds);
  Queue::iterator Insert(Queue& queue, Queue::iterator position, Waiting waiting);
  Waiting Take(Queue& queue, Queue::iterator position);
  Queue& Oldest() { return OldestIsWarning() ? warnings_ : normals_; }
  bool OldestIsWarning() const;
  void Drop(size_t events);
  void NotifyObserver();

  // True if there was no urgent work for `settle`.
  bool IsQuiet();
  // How many senders there may be now.
  size_t MaxSenders();
  // How long the oldest event must wait; zero: send it now.
  Duration DelayOfOldest();
  // Starts a sender in `tasks`.
  void StartSender(TaskGroup& tasks);
  // Sends the oldest events in sequence while they are due.
  asio::awaitable<void> SendSome();
  Async<> SendOldest();
  void HandleResponse(Waiting waiting, bool warning, const Result<ApiResponse>& response);
  std::string NewName(const std::string& object_name);

  Client& client_;
  Clock& clock_;
  EventRecorderOptions options_;
  // Oldest first.
  Queue normals_;
  Queue warnings_;
  std::unordered_map<size_t, std::pair<Queue*, Queue::iterator>> by_signature_;
  uint64_t sent_ = 0;
  uint64_t last_suffix_ = 0;
  TimePoint last_urgent_;  // when there was urgent work last
  TimePoint next_turn_;    // when the next event may be sent during urgent work
  size_t senders_ = 0;
  size_t in_flight_ = 0;
  bool flushing_ = false;
  core::Event scratch_;  // of Record(): keeps the memory of its strings
  Duration backoff_{};   // zero while the API server accepts events
  TimePoint backoff_until_;
  Notifier changed_;  // an event was added, or a sender has ended
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
