// SPDX-License-Identifier: Apache-2.0
// ApiServer: an API server as a process of the simulation. It has a lane of its own, so a call is
// carried out whether or not its caller still waits, and a crash ends what it was doing.
//
//   ApiServer server(loop, store);
//   server.Carry("ann", request, [](kube::Result<kube::ApiResponse> answer) {...});
//   server.Crash();
//
// Several may serve one store. Thread: the Loop's.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/testing/fake_store.h"
#include "sim/base/loop.h"

namespace sim {

class ApiServer {
 public:
  // As far as a cache can be behind.
  static constexpr std::chrono::seconds kOldest{5};

  using Reply = std::function<void(kube::Result<kube::ApiResponse>)>;
  // The next frame; nullopt at the normal end. Nothing follows that or an error.
  using OnFrame = std::function<void(kube::Result<std::optional<std::string>>)>;
  // An open watch. Frames are delivered while it exists.
  struct Watching {
    OnFrame on_frame;
  };

  // Both outlive it. `name`: as Caller::server.
  ApiServer(Loop& loop, kube::FakeStore& store, std::string name = "");
  ~ApiServer() { Crash(); }

  const std::string& name() const { return name_; }
  // The version of the store at the latest answer; read while it is given.
  uint64_t answered_version() const { return answered_version_; }

  // `reply` is called once, later. While the server is down: kUnavailable. `age`: how far the cache
  // of this server is behind, which is where reads with a resourceVersion are answered from; those
  // without one get the newest state. `process`: for OnWritten().
  void Carry(std::string user, kube::ApiRequest request, Reply reply, kube::Duration age = {},
             std::string process = "");
  // Called when a write of a named process was carried out, with the version of the store.
  using Written = std::function<void(const std::string& process, uint64_t version)>;
  void OnWritten(Written written) { on_written_ = std::move(written); }
  // Errors: kUnavailable, and those of the store.
  kube::Result<std::shared_ptr<Watching>> Watch(const kube::ApiRequest& request, OnFrame on_frame);

  // Connections break, and calls that are being carried out end without effect.
  void Crash();
  void Start();
  bool is_up() const { return lane_ != nullptr; }
  // A handler may be ready: something was stored and watches have frames, or a reply to a call of
  // its own has arrived.
  void Wake() {
    if (is_up()) lane_->Wake();
  }

 private:
  boost::asio::awaitable<void> CarryOut(kube::Caller caller, kube::ApiRequest request,
                                        kube::Duration age, std::string process, uint64_t id);
  kube::Async<kube::ApiResponse> AnswerOf(kube::Caller caller, kube::ApiRequest request,
                                          kube::Duration age);
  // The newest one that was stored `age` ago.
  uint64_t VersionAt(kube::Duration age) const;
  boost::asio::awaitable<void> Follow(std::unique_ptr<kube::WatchStream> stream,
                                      std::weak_ptr<Watching> watching);
  void Spawn(boost::asio::awaitable<void> task);

  Loop& loop_;
  kube::FakeStore& store_;
  std::string name_;
  std::unique_ptr<Loop::Lane> lane_;
  // Of the calls that are being carried out.
  std::map<uint64_t, Reply> replies_;
  std::map<uint64_t, std::weak_ptr<Watching>> watches_;
  // When each version of the last kOldest was stored.
  std::deque<std::pair<kube::TimePoint, uint64_t>> versions_;
  uint64_t last_id_ = 0;
  uint64_t answered_version_ = 0;
  Written on_written_;
};

}  // namespace sim
