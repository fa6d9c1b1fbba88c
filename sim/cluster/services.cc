// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/services.h"

#include <utility>

#include "kube/base/error.h"
#include "kube/types/kinds.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Error;

Error Broken() { return Error::Unavailable("connection reset by peer"); }

}  // namespace

Services::Services(Loop& loop, kube::FakeStore& store, Faults& faults, Random random)
    : loop_(loop), faults_(faults), random_(random), trust_(loop), reader_(store, "kube-proxy") {}

void Services::Add(const std::string& ns, const std::string& service, const std::string& process,
                   Life& life, Endpoint& endpoint) {
  kube::TimePoint from = loop_.now() + random_.Between(0ms, 1s);
  // A process that has started again takes the place of the one that was killed.
  std::erase_if(listed_, [&process](const std::shared_ptr<Listed>& earlier) {
    return earlier->process == process && earlier->life->ended();
  });
  auto listed = std::make_shared<Listed>(Listed{ns, service, process, &life, &endpoint, from});
  listed_.push_back(listed);
  life.OnEnd([listed] {
    for (const auto& weak : listed->calls) {
      if (auto answer = weak.lock()) answer->Set(Broken());
    }
  });
}

void Services::Remove(Endpoint& endpoint) {
  std::erase_if(listed_, [&endpoint](const std::shared_ptr<Listed>& listed) {
    if (listed->endpoint != &endpoint) return false;
    listed->endpoint = nullptr;
    return true;
  });
}

kube::Async<kube::HttpReply> Services::Call(ServiceCall call, std::function<void()> wake) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await boost::asio::this_coro::executor;
  auto answer = std::make_shared<Reply<kube::HttpReply>>(executor, std::move(wake));
  std::string about = call.service + "." + call.ns + ".svc" + call.path;
  Loop::Event late = loop_.At(loop_.now() + call.timeout, [answer, about] {
    answer->Set(Error::DeadlineExceeded("call " + about));
  });
  Send(std::move(call), answer);
  kube::Result<kube::HttpReply> reply = co_await answer->Wait();
  loop_.Cancel(late);
  if (!reply) co_return reply.error().Prefix("call " + about);
  co_return std::move(*reply);
}

void Services::Send(ServiceCall call, Answer answer) {
  std::shared_ptr<Listed> at = Choose(call);
  if (at == nullptr) {
    loop_.At(loop_.now() + 1ms, [answer] { answer->Set(Error::Unavailable("no endpoints")); });
    return;
  }
  CallFate fate =
      faults_.OfCall("call/" + at->process, {.method = kube::Method::kPost, .target = call.path});
  loop_.At(loop_.now() + fate.there,
           [this, at, call = std::move(call), fate, answer = std::move(answer)] {
             if (fate.request_lost) {
               if (!fate.silent) answer->Set(Broken());
             } else if (fate.refused) {
               answer->Set(*fate.refused);
             } else {
               Arrive(at, call, fate, answer);
             }
           });
}

void Services::Arrive(const std::shared_ptr<Listed>& at, const ServiceCall& call,
                      const CallFate& fate, const Answer& answer) {
  if (at->endpoint == nullptr || at->life->ended()) {
    // Readiness probes find out.
    std::erase(listed_, at);
    answer->Set(Error::Unavailable("connection refused"));
    return;
  }
  if (!trust_.Accepts(at->endpoint->certificate_pem(), call.authorities_pem,
                      call.service + "." + call.ns + ".svc")) {
    answer->Set(Error::Unavailable("x509: certificate signed by unknown authority"));
    return;
  }
  std::erase_if(at->calls, [](const auto& weak) { return weak.expired(); });
  at->calls.push_back(answer);
  at->endpoint->Serve({.method = "POST", .path = call.path, .body = call.body},
                      [this, fate, answer](kube::HttpReply reply) {
                        if (fate.reply_lost && fate.silent) return;
                        kube::Result<kube::HttpReply> arrives = std::move(reply);
                        if (fate.reply_lost) arrives = Broken();
                        loop_.At(loop_.now() + fate.back,
                                 [answer, arrives = std::move(arrives)] { answer->Set(arrives); });
                      });
}

std::shared_ptr<Services::Listed> Services::Choose(const ServiceCall& call) {
  if (!reader_.GetJson(kube::kServices, {call.ns, call.service})) return nullptr;
  std::vector<std::shared_ptr<Listed>> ready;
  for (const std::shared_ptr<Listed>& listed : listed_) {
    if (listed->ns != call.ns || listed->service != call.service || loop_.now() < listed->from)
      continue;
    // The objects of a process that was killed still exist.
    if (listed->endpoint->IsReady()) ready.push_back(listed);
  }
  return ready.empty() ? nullptr : random_.Of(ready);
}

}  // namespace sim
