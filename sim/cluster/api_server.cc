// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/api_server.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>
#include <vector>

#include "sim/cluster/access_reviews.h"

namespace sim {
namespace {

namespace asio = boost::asio;
using kube::Error;
using kube::Result;

Error Broken() { return Error::Unavailable("connection reset by peer"); }

// Lanes of servers that crashed. Their coroutines are not destroyed: Process does the same.
std::vector<std::unique_ptr<Loop::Lane>>& Crashed() {
  static auto& lanes = *new std::vector<std::unique_ptr<Loop::Lane>>;
  return lanes;
}

}  // namespace

ApiServer::ApiServer(Loop& loop, kube::FakeStore& store, std::string name)
    : loop_(loop), store_(store), name_(std::move(name)) {
  store_.Observe([this](const kube::StoreCommit& commit) {
    versions_.emplace_back(loop_.now(), commit.version);
    while (versions_.front().first + kOldest < loop_.now()) versions_.pop_front();
  });
  Start();
}

void ApiServer::Carry(std::string user, kube::ApiRequest request, Reply reply, kube::Duration age,
                      std::string process) {
  if (!is_up()) {
    loop_.At(loop_.now(), [reply = std::move(reply)] { reply(Broken()); });
    return;
  }
  const uint64_t id = ++last_id_;
  replies_.emplace(id, std::move(reply));
  Spawn(CarryOut({.user = std::move(user), .server = name_}, std::move(request), age,
                 std::move(process), id));
}

Result<std::shared_ptr<ApiServer::Watching>> ApiServer::Watch(const kube::ApiRequest& request,
                                                              OnFrame on_frame) {
  if (!is_up()) return Broken();
  auto stream = store_.OpenWatch(request);
  if (!stream) return stream.error();
  auto watching = std::make_shared<Watching>(Watching{std::move(on_frame)});
  std::erase_if(watches_, [](const auto& entry) { return entry.second.expired(); });
  watches_.emplace(++last_id_, watching);
  Spawn(Follow(std::move(*stream), watching));
  return watching;
}

void ApiServer::Crash() {
  if (!is_up()) return;
  lane_->Hold(true);
  Crashed().push_back(std::move(lane_));
  std::map<uint64_t, Reply> replies = std::exchange(replies_, {});
  for (auto& [id, reply] : replies) reply(Broken());
  auto watches = std::exchange(watches_, {});
  for (auto& [id, weak] : watches) {
    if (auto watching = weak.lock()) watching->on_frame(Broken());
  }
}

void ApiServer::Start() {
  if (!is_up()) lane_ = loop_.NewLane();
}

uint64_t ApiServer::VersionAt(kube::Duration age) const {
  for (const auto& [stored, version] : versions_) {
    if (stored > loop_.now() - age) return version - 1;
  }
  return store_.resource_version();
}

kube::Async<kube::ApiResponse> ApiServer::AnswerOf(kube::Caller caller, kube::ApiRequest request,
                                                   kube::Duration age) {
  std::optional<kube::ApiResponse> access = AnswerAccessReview(request);
  if (access) co_return std::move(*access);
  const bool from_cache = request.method == kube::Method::kGet &&
                          request.target.find("resourceVersion=") != std::string::npos;
  if (from_cache && age > kube::Duration(0)) {
    co_return store_.ReadAt(VersionAt(age), caller, request);
  }
  co_return co_await store_.Call(std::move(caller), std::move(request));
}

asio::awaitable<void> ApiServer::CarryOut(kube::Caller caller, kube::ApiRequest request,
                                          kube::Duration age, std::string process, uint64_t id) {
  const bool writes = request.method != kube::Method::kGet;
  Result<kube::ApiResponse> answer = co_await AnswerOf(std::move(caller), std::move(request), age);
  answered_version_ = store_.resource_version();
  if (writes && answer && !process.empty() && on_written_) on_written_(process, answered_version_);
  auto found = replies_.find(id);
  Reply reply = std::move(found->second);
  replies_.erase(found);
  reply(std::move(answer));
}

asio::awaitable<void> ApiServer::Follow(std::unique_ptr<kube::WatchStream> stream,
                                        std::weak_ptr<Watching> weak) {
  while (true) {
    Result<std::optional<std::string>> frame = co_await stream->Next();
    std::shared_ptr<Watching> watching = weak.lock();
    if (!watching) co_return;
    const bool last = !frame || !*frame;
    watching->on_frame(std::move(frame));
    if (last) co_return;
  }
}

void ApiServer::Spawn(asio::awaitable<void> task) {
  asio::co_spawn(lane_->io(), std::move(task), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  lane_->Wake();
}

}  // namespace sim
