// SPDX-License-Identifier: Apache-2.0
// ApiClient: the way of one process to an API server, with all that goes wrong on it.
//
//   ApiClient client(loop, life, server, faults, {"shard/ns-1",
//   "system:serviceaccount:ns-1:shard"});
//
// A request travels for some time, is carried out whether or not the caller still waits, and its
// answer travels back. Frames of a watch arrive in their order. Faults decides what happens to
// each. Unlike the product's client, it does not try a throttled call again: the caller sees more
// errors. Thread: the Loop's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "sim/base/loop.h"
#include "sim/base/process.h"
#include "sim/cluster/api_server.h"
#include "sim/cluster/faults.h"

namespace sim {

struct ClientIdentity {
  std::string process;  // as Faults know it
  std::string user;     // as the API server knows it
};

class ApiClient final : public ProcessClient {
 public:
  // All outlive it.
  ApiClient(Loop& loop, Life& life, ApiServer& server, Faults& faults, ClientIdentity identity);

  // kube::Client
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override;
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override;

  // ProcessClient
  void Cut() override;

 private:
  using Opened = std::shared_ptr<ApiServer::Watching>;
  // What a coroutine of the process waits for.
  template <class T>
  struct Waiting;
  struct Frames;
  class Stream;

  // What the server does, with the way to give its answer.
  template <class T>
  using Work = std::function<void(std::function<void(kube::Result<T>)> reply)>;

  // Sends a request with this fate.
  template <class T>
  void Send(CallFate fate, Work<T> work, std::shared_ptr<Waiting<T>> waiting, bool writes);
  // `version`: that a write has made; else 0.
  template <class T>
  void Deliver(const std::shared_ptr<Waiting<T>>& waiting, kube::Result<T> answer,
               uint64_t version = 0);
  // A frame has left the server.
  void Forward(const std::shared_ptr<Frames>& frames,
               kube::Result<std::optional<std::string>> frame);

  Loop& loop_;
  Life& life_;
  ApiServer& server_;
  Faults& faults_;
  ClientIdentity identity_;
  bool cut_ = false;
  // What arrived last, and when: the process may not have seen it.
  std::pair<kube::TimePoint, uint64_t> delivered_;
};

}  // namespace sim
