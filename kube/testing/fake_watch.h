// SPDX-License-Identifier: Apache-2.0
// FakeWatch: an open watch of a FakeStore.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/testing/fake_object.h"
#include "kube/testing/fake_target.h"
#include "kube/types/resource.h"

namespace kube {

struct FakeChange {
  uint64_t version;
  std::string collection;
  ObjectKey key;
  std::optional<FakeObject> before;
  std::optional<FakeObject> after;
};

class FakeWatch {
 public:
  FakeWatch(FakeTarget target, bool protobuf) : target_(std::move(target)), protobuf_(protobuf) {}

  // Queues the event of `change` for this watch's selectors, if any: ADDED for an object that
  // enters, DELETED for one that leaves.
  void Deliver(const FakeChange& change);
  void SendBookmark(uint64_t version, bool end_of_initial_events);
  // Sends 410 as an ERROR event and ends the watch.
  void SendExpired();
  // Ends the watch after the queued events, normally or with `failure`.
  void End(std::optional<Error> failure);
  bool ended() const { return ended_; }

  Async<std::optional<std::string>> Next();

 private:
  void Send(std::string_view type, std::string body);

  FakeTarget target_;
  bool protobuf_;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::deque<std::string> frames_;
  Notifier changed_;
};

std::unique_ptr<WatchStream> MakeFakeStream(std::shared_ptr<FakeWatch> watch);

}  // namespace kube
