// SPDX-License-Identifier: Apache-2.0
// SlowClient: a client of a FakeApiServer whose answers wait until the test releases them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kube/base/notifier.h"
#include "kube/client/client.h"

namespace policy {

class SlowClient final : public kube::Client {
 public:
  explicit SlowClient(kube::Client& client) : client_(client) {}

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

  // Client
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    kube::Result<> passed = co_await Pass(request.target);
    if (!passed) co_return passed.error();
    kube::Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
    co_return response;
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    std::string target = request.target;
    auto stream = co_await client_.Watch(std::move(request));
    if (!stream) co_return stream.error();
    std::unique_ptr<kube::WatchStream> slow =
        std::make_unique<Stream>(*this, std::move(target), std::move(*stream));
    co_return std::move(slow);
  }

 private:
  class Stream final : public kube::WatchStream {
   public:
    Stream(SlowClient& client, std::string target, std::unique_ptr<kube::WatchStream> stream)
        : client_(client), target_(std::move(target)), stream_(std::move(stream)) {}
    kube::Async<std::optional<std::string>> Next() override {
      auto frame = co_await stream_->Next();
      kube::Result<> passed = co_await client_.Pass(target_);
      if (!passed) co_return passed.error();
      co_return frame;
    }

   private:
    SlowClient& client_;
    std::string target_;
    std::unique_ptr<kube::WatchStream> stream_;
  };

  kube::Async<> Pass(std::string target) {
    co_await kube::IgnoreCancellation();
    if (held_.empty() || target.find(held_) == std::string::npos) co_return kube::Ok();
    while (released_ == 0) {
      kube::Result<> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    --released_;
    co_return kube::Ok();
  }

  kube::Client& client_;
  std::string held_;
  int released_ = 0;
  kube::Notifier changed_;
};

}  // namespace policy
