// SPDX-License-Identifier: Apache-2.0
// Services: calls of API servers to webhooks. A Service of the cluster leads to the servers of
// running processes (http_server.h) that are ready.
//
//   Services services(loop, store, faults, random.Fork());
//   kube::Result<kube::HttpReply> reply = co_await services.Call(
//       {.ns = "shop", .service = "pod-placement-shard-web-hook", .path = "/local/a", ...}, wake);
//
// A call needs the Service object, a server whose certificate the caller trusts, and an answer
// within the caller's timeout. It travels as Faults say, for the process "call/PROCESS": what is
// lost on the way is lost to the caller alone. Thread: the Loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/server/http_message.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/trusted_calls.h"
#include "sim/base/loop.h"
#include "sim/base/process.h"
#include "sim/base/random.h"
#include "sim/base/reply.h"
#include "sim/cluster/faults.h"
#include "sim/cluster/trust.h"

namespace sim {

struct ServiceCall {
  std::string ns, service;
  std::string path;
  // Whom the caller trusts.
  std::string authorities_pem;
  std::string body;
  kube::Duration timeout;
};

// One server behind a Service.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // What a readiness probe finds.
  virtual bool IsReady() const = 0;
  virtual std::string certificate_pem() const = 0;
  // Calls `reply` when the process has answered, if ever.
  virtual void Serve(kube::HttpCall call, std::function<void(kube::HttpReply)> reply) = 0;
};

class Services {
 public:
  // All outlive it.
  Services(Loop& loop, kube::FakeStore& store, Faults& faults, Random random);

  // From the next moments on, until Remove() or the end of `life`. `process`: as Faults know it.
  void Add(const std::string& ns, const std::string& service, const std::string& process,
           Life& life, Endpoint& endpoint);
  void Remove(Endpoint& endpoint);

  // `wake`: of the lane that calls. Errors: kUnavailable, also for a certificate that is not
  // trusted; kDeadlineExceeded.
  kube::Async<kube::HttpReply> Call(ServiceCall call, std::function<void()> wake);

 private:
  struct Listed {
    std::string ns, service, process;
    Life* life;
    // nullptr after Remove(), for calls that are on their way.
    Endpoint* endpoint;
    // When proxies know it.
    kube::TimePoint from;
    // What arrived there. A connection breaks when the process ends.
    std::vector<std::weak_ptr<Reply<kube::HttpReply>>> calls = {};
  };
  using Answer = std::shared_ptr<Reply<kube::HttpReply>>;

  void Send(ServiceCall call, Answer answer);
  // Called when the request has arrived.
  void Arrive(const std::shared_ptr<Listed>& at, const ServiceCall& call, const CallFate& fate,
              const Answer& answer);
  // One of the servers; nullptr if there is none.
  std::shared_ptr<Listed> Choose(const ServiceCall& call);

  Loop& loop_;
  Faults& faults_;
  Random random_;
  Trust trust_;
  kube::TrustedCalls reader_;
  std::vector<std::shared_ptr<Listed>> listed_;
};

}  // namespace sim
