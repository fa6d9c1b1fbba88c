// SPDX-License-Identifier: Apache-2.0
// FakeWatch: an open watch of a FakeStore. What plays the network may delay its frames, each watch
// by itself, and cut it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/testing/fake_history.h"
#include "kube/testing/fake_object.h"
#include "kube/testing/fake_target.h"
#include "kube/types/resource.h"

namespace kube {

class FakeWatch {
 public:
  // `held`: its frames wait for Release(). `max_unread`: frames, beyond which the watch ends.
  FakeWatch(FakeTarget target, bool protobuf, bool held, size_t max_unread)
      : target_(std::move(target)), protobuf_(protobuf), held_(held), max_unread_(max_unread) {}

  // --- By the store.
  void SendInitial(const ObjectKey& key, const FakeObject& object, uint64_t version);
  // Queues the event of `change` for this watch's selectors, if any: ADDED for an object that
  // enters, DELETED for one that leaves.
  void Deliver(const FakeChange& change);
  void SendBookmark(uint64_t version, bool end_of_initial_events);
  // Sends 410 as an ERROR event and ends the watch.
  void SendExpired();
  // Ends the watch after the queued events, normally or with `failure`. Held events still wait for
  // their release.
  void End(std::optional<Error> failure);
  bool ended() const { return ended_; }

  // --- By what plays the network.
  // The frames that Next() does not return yet.
  size_t held() const { return frames_.size() - released_; }
  void Release(size_t frames);
  // Releases the frames up to the version of their change.
  void ReleaseThrough(uint64_t version);
  // The connection breaks: what the client has not read is lost.
  void Cut(Error failure);

  // --- By the client.
  Async<std::optional<std::string>> Next();

 private:
  struct Frame {
    uint64_t version;
    std::string text;
  };
  void Send(std::string_view type, uint64_t version, const Result<std::string>& body);

  FakeTarget target_;
  bool protobuf_;
  bool held_;
  size_t max_unread_;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::deque<Frame> frames_;
  size_t released_ = 0;
  Notifier changed_;
};

// What a client reads. `watch` may be kept, to release and to cut it.
std::unique_ptr<WatchStream> MakeFakeStream(std::shared_ptr<FakeWatch> watch);

}  // namespace kube
