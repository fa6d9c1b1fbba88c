// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/create_many.h"

#include "kube/base/task_group.h"
#include "kube/client/typed.h"

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr int kCreators = 16;

class Creator {
 public:
  Creator(e2e::ProcessCluster& cluster, kube::Resource resource, int count,
          const std::function<kube::Json(int)>& make)
      : cluster_(cluster), resource_(resource), count_(count), make_(make) {}

  Result<> Run(std::chrono::seconds timeout) {
    kube::TaskGroup tasks(cluster_.io().get_executor());
    for (int i = 0; i < kCreators; ++i) tasks.Spawn("creator", Create());
    auto deadline = cluster_.clock().Now() + timeout;
    while (created_ < count_ && error_) {
      if (cluster_.clock().Now() > deadline) error_ = Error::DeadlineExceeded("creating objects");
      cluster_.Pause(10ms);
    }
    Result<> stopped = cluster_.Run(tasks.Stop(cluster_.clock(), 5s));
    return error_ ? stopped : error_;
  }

 private:
  boost::asio::awaitable<void> Create() {
    co_await kube::IgnoreCancellation();
    while (next_ < count_ && error_) {
      kube::Unstructured object(make_(next_++));
      auto created = co_await kube::CreateObject(cluster_.client(), resource_, std::move(object));
      if (!created) error_ = created.error();
      ++created_;
    }
  }

  e2e::ProcessCluster& cluster_;
  kube::Resource resource_;
  int count_;
  const std::function<kube::Json(int)>& make_;
  int next_ = 0;
  int created_ = 0;
  Result<> error_ = Ok();
};

}  // namespace

Result<> CreateMany(e2e::ProcessCluster& cluster, kube::Resource resource, int count,
                    const std::function<kube::Json(int number)>& make,
                    std::chrono::seconds timeout) {
  return Creator(cluster, resource, count, make).Run(timeout);
}

}  // namespace benchmarks
