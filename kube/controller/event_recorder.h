// SPDX-License-Identifier: Apache-2.0
// EventRecorder: core/v1 Events about objects, at a low priority. An event costs the API server as much as a write, so
// events wait in a bounded queue, go out one at a time once nothing urgent has been going on for a moment, and what
// overflows is counted. Where there is no such moment they go out late and few at a time.
//
//   EventRecorder events(client, clock, {.component = "shard", .busy = [&] { return pods.queue().size() > 0; }});
//   tasks.Spawn("events", events.Run());
//   events.Record(ReferenceTo(pod), /*warning=*/false, "Placed", "on arm64");      // never waits
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace kube {

struct EventRecorderOptions {
  // Source of the events.
  std::string component;
  // Events that wait; one more is dropped.
  size_t capacity = 1000;
  // True while there is more urgent work, of which a new event is a sign as well; empty: there never is. Asked each `poll`.
  std::function<bool()> busy;
  Duration poll = std::chrono::milliseconds(100);
  // How long there must have been none: work that comes pod after pod leaves gaps.
  Duration settle = std::chrono::milliseconds(200);
  // An event that has waited this long waits no longer for that, but for its turn: one each `pace`.
  Duration max_wait = std::chrono::seconds(5);
  Duration pace = std::chrono::milliseconds(50);
  // How long a stop takes at most to send what is left.
  Duration flush = std::chrono::seconds(2);
};

class EventRecorder {
 public:
  // `client` and `clock` outlive the recorder.
  EventRecorder(Client& client, Clock& clock, EventRecorderOptions options);

  // Queues an event, or counts one more of an equal event that still waits. In a full queue a warning takes the place of
  // another event. `message` is cut to 1,024 bytes.
  void Record(const core::ObjectReference& about, bool warning, std::string_view reason, std::string message);

  // Sends until cancelled, then flushes. Failures are logged at verbosity 1 and not tried again.
  asio::awaitable<void> Run();

  size_t size() const { return queue_.size(); }
  // Events that found the queue full, or were refused by the API server, or left at the end.
  uint64_t dropped() const { return dropped_; }

 private:
  struct Waiting {
    std::string signature;
    core::Event event;
    TimePoint since;
  };
  // How long the first event has to wait yet; zero: it may go.
  Duration Pause();
  Async<> SendFirst(Duration timeout);
  // False if only warnings wait.
  bool DropNewestNormal();
  std::string NewName(const std::string& object_name);

  Client& client_;
  Clock& clock_;
  EventRecorderOptions options_;
  std::list<Waiting> queue_;
  std::unordered_map<std::string_view, std::list<Waiting>::iterator> by_signature_;  // views into `queue_`
  uint64_t dropped_ = 0;
  uint64_t last_suffix_ = 0;
  TimePoint urgent_;     // when there was urgent work last
  TimePoint next_turn_;  // of events that have waited too long
  Notifier added_;
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
