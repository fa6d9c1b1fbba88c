// SPDX-License-Identifier: Apache-2.0
// FakeTarget and FakeWatch: the parsed target of a request to FakeApiServer, and an open watch.
// Internal to FakeApiServer.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/testing/fake_object.h"
#include "kube/types/resource.h"

namespace kube {

struct FakeTarget {
  std::string collection;  // "/api/v1/pods", whatever the namespace
  ObjectKey key;  // without name: the collection; without ns: all namespaces, or cluster-scoped
  std::string subresource;
  std::map<std::string, std::string> query;

  static Result<FakeTarget> Parse(std::string_view target);
  std::string Query(const std::string& name) const;
  // True if a list or watch of this target includes the object; kInvalid for an unknown field.
  Result<bool> Matches(const ObjectKey& object_key, const FakeObject& object) const;
};

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
  void Send(std::string_view type, bool protobuf, std::string body);

  FakeTarget target_;
  bool protobuf_;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::deque<std::string> frames_;
  Notifier changed_;
};

std::unique_ptr<WatchStream> MakeFakeStream(std::shared_ptr<FakeWatch> watch);

}  // namespace kube
