// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/create_many.h"

#include <utility>

#include "kube/base/task_group.h"
#include "kube/client/typed.h"

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr int kCallers = 16;

class Calls {
 public:
  Calls(e2e::Cluster& cluster, int count, const std::function<Async<>(int)>& call)
      : cluster_(cluster), count_(count), call_(call) {}

  Result<> Run(std::chrono::seconds timeout) {
    kube::TaskGroup tasks(cluster_.io().get_executor());
    for (int i = 0; i < kCallers; ++i) tasks.Spawn("caller", Call());
    auto deadline = cluster_.clock().Now() + timeout;
    while (done_ < count_ && error_) {
      if (cluster_.clock().Now() > deadline) error_ = Error::DeadlineExceeded("making the calls");
      cluster_.Pause(10ms);
    }
    Result<> stopped = cluster_.Run(tasks.Stop(cluster_.clock(), 5s));
    return error_ ? stopped : error_;
  }

 private:
  boost::asio::awaitable<void> Call() {
    co_await kube::IgnoreCancellation();
    while (next_ < count_ && error_) {
      Async<> call = call_(next_++);
      Result<> called = co_await std::move(call);
      if (!called && error_) error_ = called;
      ++done_;
    }
  }

  e2e::Cluster& cluster_;
  int count_;
  const std::function<Async<>(int)>& call_;
  int next_ = 0;
  int done_ = 0;
  Result<> error_ = Ok();
};

Async<> CreateOne(kube::Client& client, kube::Resource resource, kube::Json json) {
  kube::Unstructured object(std::move(json));
  auto created = co_await kube::CreateObject(client, resource, std::move(object));
  if (!created) co_return created.error();
  co_return Ok();
}

}  // namespace

Result<> CallMany(e2e::Cluster& cluster, int count, const std::function<Async<>(int number)>& call,
                  std::chrono::seconds timeout) {
  return Calls(cluster, count, call).Run(timeout);
}

Result<> CreateMany(e2e::Cluster& cluster, kube::Resource resource, int count,
                    const std::function<kube::Json(int number)>& make,
                    std::chrono::seconds timeout) {
  return CallMany(
      cluster, count,
      [&](int number) { return CreateOne(cluster.client(), resource, make(number)); }, timeout);
}

}  // namespace benchmarks
