// SPDX-License-Identifier: Apache-2.0
// SlowClient: a client of a FakeApiServer whose answers wait until the test releases them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kube/base/notifier.h"
#include "kube/client/client.h"

namespace kube {

class SlowClient final : public Client {
 public:
  explicit SlowClient(Client& client) : client_(client) {}

  // From now on, calls and frames of watches whose target contains `containing` wait.
  void Hold(std::string containing) {
    held_ = std::move(containing);
    released_ = 0;
  }
  // Lets `count` of them pass.
  void Release(int count = 1'000'000) {
    released_ += count;
    changed_.NotifyAll();
  }

  // How many calls and frames wait.
  int waiting() const { return waiting_; }

  // Client
  Async<ApiResponse> Call(ApiRequest request) override {
    Result<> passed = co_await Pass(request.target);
    if (!passed) co_return passed.error();
    Result<ApiResponse> response = co_await client_.Call(std::move(request));
    co_return response;
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override {
    std::string target = request.target;
    auto stream = co_await client_.Watch(std::move(request));
    if (!stream) co_return stream.error();
    std::unique_ptr<WatchStream> slow =
        std::make_unique<Stream>(*this, std::move(target), std::move(*stream));
    co_return std::move(slow);
  }

 private:
  class Stream final : public WatchStream {
   public:
    Stream(SlowClient& client, std::string target, std::unique_ptr<WatchStream> stream)
        : client_(client), target_(std::move(target)), stream_(std::move(stream)) {}
    Async<std::optional<std::string>> Next() override {
      auto frame = co_await stream_->Next();
      Result<> passed = co_await client_.Pass(target_);
      if (!passed) co_return passed.error();
      co_return frame;
    }

   private:
    SlowClient& client_;
    std::string target_;
    std::unique_ptr<WatchStream> stream_;
  };

  Async<> Pass(std::string target) {
    co_await IgnoreCancellation();
    if (held_.empty() || target.find(held_) == std::string::npos) co_return Ok();
    while (released_ == 0) {
      ++waiting_;
      Result<> waited = co_await changed_.Wait();
      --waiting_;
      if (!waited) co_return waited.error();
    }
    --released_;
    co_return Ok();
  }

  Client& client_;
  std::string held_;
  int released_ = 0;
  int waiting_ = 0;
  Notifier changed_;
};

}  // namespace kube
