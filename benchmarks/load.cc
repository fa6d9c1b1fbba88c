// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/load.h"

#include <algorithm>
#include <unordered_map>

#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/typed.h"
#include "kube/types/core.pb.h"

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Async;
using kube::Duration;
using kube::Error;
using kube::EventType;
using kube::Ok;
using kube::Result;
using kube::TimePoint;
using kube::core::Pod;

constexpr char kOwnGate[] = "benchmark/gate";
// spec.schedulerName = "nobody", field 19, which kube/types/core.proto does not have.
constexpr std::string_view kNoScheduler("\x9a\x01\x06nobody", 9);

Pod NewPod(const LoadOptions& options, int number) {
  Pod pod;
  pod.mutable_metadata()->set_namespace_(options.ns);
  pod.mutable_metadata()->set_name("load-" + std::to_string(number));
  (*pod.mutable_metadata()->mutable_labels())["app"] = "load";
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("app");
  container->set_image(options.image);
  container->set_image_pull_policy("IfNotPresent");
  if (options.own_gate) pod.mutable_spec()->add_scheduling_gates()->set_name(kOwnGate);
  pod.mutable_spec()->mutable_unknown_fields()->append(kNoScheduler);
  return pod;
}

// Keeps only pods with a gate.
Result<std::optional<std::string>> PackGated(std::string_view bytes) {
  Pod pod;
  Result<void> parsed = kube::ParseMessage(bytes, pod);
  if (!parsed) return parsed.error();
  if (pod.spec().scheduling_gates_size() == 0) return std::optional<std::string>();
  return std::optional<std::string>(bytes);
}

// One run: the state that creators and watch share.
class Run {
 public:
  Run(kube::Client& client, kube::Clock& clock, LoadOptions options, kube::Executor executor)
      : client_(client),
        clock_(clock),
        options_(std::move(options)),
        pods_(client, clock, {.ns = options_.ns, .label_selector = "app=load"}),
        tasks_(executor),
        sent_(options_.pods) {
    pods_.OnEvent([this](EventType type, const Pod& pod) { OnPod(type, pod); });
  }

  Async<LoadResult> Measure() {
    tasks_.Spawn("watch", pods_.Run());
    Result<> synced = co_await pods_.WaitForSync();
    if (!synced) co_return synced.error();

    start_ = clock_.Now();
    creators_ = options_.connections;
    for (int i = 0; i < options_.connections; ++i) tasks_.Spawn("creator", CreatePods());
    while (creators_ > 0 && !failure_) {
      Result<> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    LoadResult result{.created = clock_.Now() - start_, .ungated = {}, .waits = {}};
    while (options_.await_ungated && static_cast<int>(waits_.size()) < options_.pods && !failure_) {
      if (clock_.Now() > start_ + options_.timeout) failure_ = Error::DeadlineExceeded(Progress());
      Result<> slept = co_await clock_.Sleep(5ms);
      if (!slept) co_return slept.error();
    }
    Result<> stopped = co_await tasks_.Stop(clock_, 5s);
    if (failure_) co_return *failure_;
    if (!stopped) co_return stopped.error();
    if (options_.await_ungated) {
      result.ungated = last_ - start_;
      result.waits = std::move(waits_);
      std::sort(result.waits.begin(), result.waits.end());
    }
    co_return result;
  }

 private:
  boost::asio::awaitable<void> CreatePods() {
    co_await kube::IgnoreCancellation();
    while (next_ < options_.pods && !failure_) {
      int number = next_++;
      if (options_.rate > 0) {
        Result<> due = co_await clock_.SleepUntil(start_ + 1s * number / options_.rate);
        if (!due) break;
      }
      Result<> created = co_await CreatePod(number);
      if (!created) failure_ = created.error().Prefix("pod " + std::to_string(number));
    }
    --creators_;
    changed_.NotifyAll();
  }

  Async<> CreatePod(int number) {
    sent_[number] = clock_.Now();
    Pod pod = NewPod(options_, number);
    Result<Pod> created = co_await kube::Create(client_, std::move(pod));
    if (!created) co_return created.error();
    if (!options_.own_gate) co_return Ok();
    created->mutable_spec()->clear_scheduling_gates();
    Result<Pod> written = co_await kube::Update(client_, std::move(*created));
    if (!written) co_return written.error();
    co_return Ok();
  }

  void OnPod(EventType type, const Pod& pod) {
    if (type == EventType::kDeleted || pod.spec().scheduling_gates_size() > 0) return;
    size_t number = std::strtoul(pod.metadata().name().c_str() + 5, nullptr, 10);
    if (number >= sent_.size() || sent_[number] == TimePoint()) return;
    last_ = clock_.Now();
    waits_.push_back(last_ - sent_[number]);
    sent_[number] = TimePoint();
  }

  std::string Progress() const {
    return std::to_string(waits_.size()) + " of " + std::to_string(options_.pods) +
           " pods are ungated";
  }

  kube::Client& client_;
  kube::Clock& clock_;
  LoadOptions options_;
  kube::Informer<Pod> pods_;
  kube::TaskGroup tasks_;
  kube::Notifier changed_;
  std::vector<TimePoint> sent_;  // zero: ungated
  std::vector<Duration> waits_;
  TimePoint start_;
  TimePoint last_;
  int next_ = 0;
  int creators_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

Async<LoadResult> RunLoad(kube::Client& client, kube::Clock& clock, LoadOptions options) {
  auto executor = co_await boost::asio::this_coro::executor;
  Run run(client, clock, std::move(options), executor);
  Result<LoadResult> result = co_await run.Measure();
  co_return result;
}

Async<Duration> AwaitUngated(kube::Client& client, kube::Clock& clock, std::string ns,
                             std::chrono::seconds timeout) {
  auto executor = co_await boost::asio::this_coro::executor;
  kube::TaskGroup tasks(executor);
  kube::Informer<Pod> gated(client, clock,
                            {.ns = ns, .label_selector = "app=load", .pack = PackGated});
  TimePoint start = clock.Now();
  tasks.Spawn("watch", gated.Run());
  Result<> done = co_await gated.WaitForSync();
  while (done && gated.size() > 0) {
    if (clock.Now() > start + timeout)
      done = Error::DeadlineExceeded(std::to_string(gated.size()) + " pods are still gated");
    Result<> slept = co_await clock.Sleep(5ms);
    if (!slept) done = slept;
  }
  Duration took = clock.Now() - start;
  Result<> stopped = co_await tasks.Stop(clock, 5s);
  if (!done) co_return done.error();
  if (!stopped) co_return stopped.error();
  co_return took;
}

Async<> DeletePods(kube::Client& client, kube::Clock& clock, std::string ns) {
  std::string target = kube::ResourceOf<Pod>::value.Path(ns);
  kube::AddQuery(target, "labelSelector", "app=load");
  kube::AddQuery(target, "gracePeriodSeconds", "0");
  for (TimePoint deadline = clock.Now() + 300s; clock.Now() < deadline;) {
    kube::ApiRequest request{.method = kube::Method::kDelete, .target = target, .timeout = 300s};
    Result<kube::ApiResponse> deleted = co_await client.Call(std::move(request));
    // The API server gives a call a minute, which thousands of pods may need more than once.
    if (!deleted && deleted.error().code() != kube::Code::kUnavailable) co_return deleted.error();
    kube::ListOptions some{.ns = ns,
                           .label_selector = "app=load",
                           .field_selector = "",
                           .limit = 500,
                           .resource_version = ""};
    Result<kube::TypedList<Pod>> left = co_await kube::List<Pod>(client, some);
    if (!left) co_return left.error();
    if (left->items.empty()) co_return Ok();
  }
  co_return Error::DeadlineExceeded("delete the pods of " + ns);
}

}  // namespace benchmarks
