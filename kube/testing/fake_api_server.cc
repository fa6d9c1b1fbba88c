// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_api_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "kube/testing/fake_store.h"

namespace kube {

FakeApiServer::FakeApiServer(Clock& clock) : FakeApiServer(std::make_unique<FakeStore>(clock)) {}

FakeApiServer::FakeApiServer(std::unique_ptr<FakeStore> store)
    : TrustedCalls(*store), store_(std::move(store)) {}

FakeApiServer::~FakeApiServer() = default;

Async<ApiResponse> FakeApiServer::Call(ApiRequest request) {
  co_await IgnoreCancellation();
  bool cancelled = co_await IsCancelled();
  if (cancelled) co_return Error::Cancelled("call");
  // A call never completes without yielding: the code under test must handle concurrent changes.
  auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);

  if (std::optional<Error> failure = Arrive(MethodName(request.method), request))
    co_return *failure;
  Caller caller{.user = "client"};
  Result<ApiResponse> response = co_await store_->Call(std::move(caller), std::move(request));
  co_return response;
}

Async<std::unique_ptr<WatchStream>> FakeApiServer::Watch(ApiRequest request) {
  co_await IgnoreCancellation();
  bool cancelled = co_await IsCancelled();
  if (cancelled) co_return Error::Cancelled("watch");
  auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);

  if (std::optional<Error> failure = Arrive("WATCH", request)) co_return *failure;
  co_return store_->OpenWatch(request);
}

std::optional<Error> FakeApiServer::Arrive(std::string_view verb, const ApiRequest& request) {
  calls_.push_back(std::string(verb) + " " + request.target);
  bodies_.push_back(request.body);
  std::string call = calls_.back();
  if (before_each_) before_each_(call);
  if (down_) return Error::Unavailable("connection refused");
  return TakeFailure(call);
}

std::optional<Error> FakeApiServer::TakeFailure(const std::string& call) {
  auto found = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& f) {
    return call.find(f.containing) != std::string::npos;
  });
  if (found == failures_.end()) return std::nullopt;
  Error error = found->error;
  if (--found->times <= 0) failures_.erase(found);
  return error;
}

void FakeApiServer::FailNext(Error error, std::string containing, int times) {
  failures_.push_back({std::move(error), std::move(containing), times});
}

void FakeApiServer::Stop() {
  down_ = true;
  store_->EndWatches(Error::Unavailable("connection reset"));
}

void FakeApiServer::CloseWatches() { store_->EndWatches(std::nullopt); }
void FakeApiServer::ExpireWatches() { store_->ExpireWatches(); }
void FakeApiServer::RefuseStreamingLists() { store_->RefuseStreamingLists(); }
void FakeApiServer::IgnoreStreamingLists() { store_->IgnoreStreamingLists(); }
void FakeApiServer::SendBookmarks() { store_->SendBookmarks(); }
int FakeApiServer::open_watches() const { return store_->open_watches(); }
uint64_t FakeApiServer::resource_version() const { return store_->resource_version(); }

int FakeApiServer::CountCalls(std::string_view containing) const {
  return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [&](const std::string& call) {
    return call.find(containing) != std::string::npos;
  }));
}

int FakeApiServer::CountWrites() const {
  return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [](const std::string& call) {
    return !call.starts_with("GET ") && !call.starts_with("WATCH ");
  }));
}

std::string FakeApiServer::LastBody(std::string_view containing) const {
  for (size_t i = calls_.size(); i-- > 0;) {
    if (calls_[i].find(containing) != std::string::npos) return bodies_[i];
  }
  return "";
}

}  // namespace kube
