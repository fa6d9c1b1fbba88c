// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/api_client.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <utility>

namespace sim {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using kube::ApiRequest;
using kube::ApiResponse;
using kube::Error;
using kube::Result;

// As the product's client has it.
constexpr kube::Duration kWatchIdleTimeout = 300s;

Error Broken() { return Error::Unavailable("connection reset by peer"); }

}  // namespace

template <class T>
struct ApiClient::Waiting {
  explicit Waiting(kube::Executor executor)
      : timer(std::move(executor), asio::steady_timer::time_point::max()) {}

  asio::steady_timer timer;  // cancelled to wake it
  std::optional<Result<T>> answer;
  bool cancelled = false;  // the caller has stopped waiting
};

// Of one watch; shared by the stream and the frames on their way.
struct ApiClient::Frames {
  explicit Frames(kube::Executor executor)
      : timer(std::move(executor), asio::steady_timer::time_point::max()) {}

  asio::steady_timer timer;  // cancelled to wake the reader
  std::deque<Result<std::optional<std::string>>> arrived;
  kube::TimePoint last_arrival;
  bool broken = false;
};

class ApiClient::Stream final : public kube::WatchStream {
 public:
  Stream(ApiClient& client, Opened watching, std::shared_ptr<Frames> frames)
      : client_(client), watching_(std::move(watching)), frames_(std::move(frames)) {}

  kube::Async<std::optional<std::string>> Next() override {
    co_await kube::IgnoreCancellation();
    bool cancelled = co_await kube::IsCancelled();
    if (cancelled) co_return Error::Cancelled("watch");
    if (frames_->arrived.empty()) {
      // Outlives this stream.
      std::shared_ptr<Frames> frames = frames_;
      auto too_late = std::make_shared<bool>(false);
      Loop::Event idle = client_.loop_.At(client_.loop_.now() + kWatchIdleTimeout, [=, this] {
        *too_late = true;
        frames->timer.cancel();
        client_.life_.lane().Wake();
      });
      auto waited = co_await frames_->timer.async_wait(kube::kTuple);
      (void)waited;
      client_.loop_.Cancel(idle);
      if (frames_->arrived.empty() && *too_late)
        co_return Error::DeadlineExceeded("watch: nothing was sent");
      if (frames_->arrived.empty()) co_return Error::Cancelled("watch");
    }
    Result<std::optional<std::string>> frame = std::move(frames_->arrived.front());
    frames_->arrived.pop_front();
    co_return frame;
  }

 private:
  ApiClient& client_;
  Opened watching_;
  std::shared_ptr<Frames> frames_;
};

ApiClient::ApiClient(Loop& loop, Life& life, ApiServer& server, Faults& faults,
                     ClientIdentity identity)
    : loop_(loop), life_(life), server_(server), faults_(faults), identity_(std::move(identity)) {}

kube::Async<ApiResponse> ApiClient::Call(ApiRequest request) {
  co_await kube::IgnoreCancellation();
  bool cancelled = co_await kube::IsCancelled();
  auto executor = co_await asio::this_coro::executor;
  if (cancelled) co_return Error::Cancelled(request.target);
  auto waiting = std::make_shared<Waiting<ApiResponse>>(executor);
  const kube::TimePoint deadline = loop_.now() + request.timeout;
  CallFate fate = faults_.OfCall(identity_.process, request);
  Work<ApiResponse> work = [this, request, age = fate.age](auto reply) {
    server_.Carry(identity_.user, request, std::move(reply), age, identity_.process);
  };
  Send<ApiResponse>(std::move(fate), std::move(work), waiting,
                    request.method != kube::Method::kGet);
  Loop::Event late = loop_.At(deadline, [this, waiting, target = request.target] {
    Deliver<ApiResponse>(waiting, Error::DeadlineExceeded(target));
  });
  auto waited = co_await waiting->timer.async_wait(kube::kTuple);
  (void)waited;
  loop_.Cancel(late);
  waiting->cancelled = !waiting->answer;
  if (waiting->cancelled) co_return Error::Cancelled(request.target);
  co_return std::move(*waiting->answer);
}

kube::Async<std::unique_ptr<kube::WatchStream>> ApiClient::Watch(ApiRequest request) {
  co_await kube::IgnoreCancellation();
  bool cancelled = co_await kube::IsCancelled();
  auto executor = co_await asio::this_coro::executor;
  if (cancelled) co_return Error::Cancelled(request.target);
  auto waiting = std::make_shared<Waiting<Opened>>(executor);
  auto frames = std::make_shared<Frames>(executor);
  const kube::TimePoint deadline = loop_.now() + request.timeout;
  CallFate fate = faults_.OfCall(identity_.process, request);
  Work<Opened> work = [this, request, frames](auto reply) {
    reply(server_.Watch(request, [this, frames](Result<std::optional<std::string>> frame) {
      Forward(frames, std::move(frame));
    }));
  };
  Send<Opened>(std::move(fate), std::move(work), waiting, /*writes=*/false);
  Loop::Event late = loop_.At(deadline, [this, waiting, target = request.target] {
    Deliver<Opened>(waiting, Error::DeadlineExceeded(target));
  });
  auto waited = co_await waiting->timer.async_wait(kube::kTuple);
  (void)waited;
  loop_.Cancel(late);
  if (!waiting->answer) co_return Error::Cancelled(request.target);
  if (!*waiting->answer) co_return waiting->answer->error();
  std::unique_ptr<kube::WatchStream> stream =
      std::make_unique<Stream>(*this, std::move(**waiting->answer), std::move(frames));
  co_return std::move(stream);
}

template <class T>
void ApiClient::Send(CallFate fate, Work<T> work, std::shared_ptr<Waiting<T>> waiting,
                     bool writes) {
  auto answer = [this, fate, waiting, writes](Result<T> result) {
    const uint64_t version = result && writes ? server_.answered_version() : 0;
    if (fate.reply_lost && version != 0) faults_.AddLostAnswer(version);
    if (fate.reply_lost && fate.silent) return;
    if (fate.reply_lost) result = Broken();
    auto deliver = [this, waiting, version, result = std::move(result)] {
      Deliver<T>(waiting, result, version);
    };
    loop_.At(loop_.now() + fate.back, std::move(deliver));
  };
  loop_.At(loop_.now() + fate.there, [fate, work = std::move(work), answer = std::move(answer)] {
    if (fate.request_lost) {
      if (!fate.silent) answer(Broken());
    } else if (fate.refused) {
      answer(*fate.refused);
    } else {
      work(answer);
    }
  });
}

template <class T>
void ApiClient::Deliver(const std::shared_ptr<Waiting<T>>& waiting, Result<T> answer,
                        uint64_t version) {
  const bool lost = cut_ || waiting->answer || waiting->cancelled;
  if ((lost || life_.lane().held()) && version != 0) faults_.AddLostAnswer(version);
  if (lost) return;
  if (version != 0) delivered_ = {loop_.now(), version};
  waiting->answer = std::move(answer);
  waiting->timer.cancel();
  life_.lane().Wake();
}

void ApiClient::Cut() {
  cut_ = true;
  if (delivered_.first == loop_.now()) faults_.AddLostAnswer(delivered_.second);
}

void ApiClient::Forward(const std::shared_ptr<Frames>& frames,
                        Result<std::optional<std::string>> frame) {
  if (cut_ || frames->broken) return;
  std::optional<kube::Duration> travel = faults_.OfFrame(identity_.process);
  if (!travel) frame = Broken();
  frames->broken = !frame;
  // One connection: no frame overtakes another.
  frames->last_arrival =
      std::max(frames->last_arrival, loop_.now() + travel.value_or(kube::Duration(0)));
  loop_.At(frames->last_arrival, [this, frames, frame = std::move(frame)] {
    if (cut_) return;
    frames->arrived.push_back(frame);
    frames->timer.cancel();
    life_.lane().Wake();
  });
}

}  // namespace sim
