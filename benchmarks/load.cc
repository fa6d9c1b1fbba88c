// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/load.h"

#include <algorithm>
#include <iterator>

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

constexpr std::string_view kOwnGate = "benchmark/gate-";
constexpr std::string_view kPodPrefix = "load-";
// spec.schedulerName = "nobody", field 19, which kube/types/core.proto does not have.
constexpr std::string_view kNoScheduler("\x9a\x01\x06nobody", 9);

Pod NewPod(const LoadOptions& options, int number) {
  Pod pod;
  const auto& namespaces = options.namespaces;
  pod.mutable_metadata()->set_namespace_(namespaces[number % namespaces.size()]);
  pod.mutable_metadata()->set_name(std::string(kPodPrefix) + std::to_string(number));
  (*pod.mutable_metadata()->mutable_labels())["app"] = "load";
  if (options.padding > 0)
    (*pod.mutable_metadata()->mutable_annotations())["benchmark/padding"].assign(options.padding,
                                                                                 'x');
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("app");
  container->set_image(options.images[number % options.images.size()]);
  container->set_image_pull_policy("IfNotPresent");
  for (int gate = 0; gate < options.own_gates; ++gate) {
    pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(kOwnGate) +
                                                         std::to_string(gate));
  }
  pod.mutable_spec()->mutable_unknown_fields()->append(kNoScheduler);
  return pod;
}

// Removes the gates of the benchmark, each by one PUT.
Async<> RemoveGates(kube::Client& client, Pod pod) {
  auto* gates = pod.mutable_spec()->mutable_scheduling_gates();
  while (gates->size() > 1) {
    gates->RemoveLast();
    Result<Pod> written = co_await kube::Update(client, pod);
    if (!written) co_return written.error();
    pod = std::move(*written);
    gates = pod.mutable_spec()->mutable_scheduling_gates();
  }
  gates->Clear();
  Result<> written = co_await kube::Replace(client, pod);
  co_return written;
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
        pods_(client, clock,
              {.ns = options_.namespaces.size() == 1 ? options_.namespaces.front() : "",
               .label_selector = "app=load"}),
        tasks_(executor),
        sent_(options_.pods),
        responses_(options_.pods),
        expected_(options_.delete_half ? (options_.pods + 1) / 2 : options_.pods) {
    pods_.OnEvent([this](EventType type, const Pod& pod) { OnPod(type, pod); });
  }

  Async<LoadResult> Measure() {
    if (options_.await_ungated) {
      tasks_.Spawn("watch", pods_.Run());
      Result<> synced = co_await pods_.WaitForSync();
      if (!synced) co_return synced.error();
    }

    start_ = clock_.Now();
    creators_ = options_.connections;
    for (int i = 0; i < options_.connections; ++i) tasks_.Spawn("creator", CreatePods());
    while (creators_ > 0 && !failure_) {
      Result<> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    LoadResult result;
    result.created = clock_.Now() - start_;
    while (options_.await_ungated && ungated_ < expected_ && !failure_) {
      if (clock_.Now() > start_ + options_.timeout) failure_ = Error::DeadlineExceeded(Progress());
      Result<> slept = co_await clock_.Sleep(5ms);
      if (!slept) co_return slept.error();
    }
    Result<> stopped = co_await tasks_.Stop(clock_, 5s);
    if (failure_) co_return *failure_;
    if (!stopped) co_return stopped.error();
    if (options_.await_ungated) {
      result.ungated = last_ - start_;
      result.from_call = std::move(from_call_);
      result.from_response = std::move(from_response_);
      std::sort(result.from_call.begin(), result.from_call.end());
      std::sort(result.from_response.begin(), result.from_response.end());
    }
    co_return result;
  }

 private:
  boost::asio::awaitable<void> CreatePods() {
    co_await kube::IgnoreCancellation();
    while (next_ < options_.pods && !failure_) {
      int number = next_++;
      if (options_.rate > 0) {
        Result<> due = co_await clock_.SleepUntil(start_ + Duration(1s) * number / options_.rate);
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
    responses_[number] = clock_.Now();
    if (ended_[number] != TimePoint()) Count(number);
    if (options_.delete_half && number % 2 == 1) {
      kube::ObjectKey key{created->metadata().namespace_(), created->metadata().name()};
      Result<> deleted = co_await DeleteNow(std::move(key));
      co_return deleted;
    }
    if (options_.own_gates == 0 || options_.keep_own_gates) co_return Ok();
    Result<> removed = co_await RemoveGates(client_, std::move(*created));
    co_return removed;
  }

  Async<> DeleteNow(kube::ObjectKey key) {
    std::string target = kube::ResourceOf<Pod>::value.Path(key.ns, key.name);
    kube::AddQuery(target, "gracePeriodSeconds", "0");
    kube::ApiRequest request{.method = kube::Method::kDelete, .target = target};
    Result<> deleted = co_await kube::Send(client_, std::move(request));
    co_return deleted;
  }

  void OnPod(EventType type, const Pod& pod) {
    if (type == EventType::kDeleted || pod.spec().scheduling_gates_size() > 0) return;
    size_t number = std::strtoul(pod.metadata().name().c_str() + kPodPrefix.size(), nullptr, 10);
    if (number >= sent_.size() || sent_[number] == TimePoint()) return;
    if (ended_[number] != TimePoint() || (options_.delete_half && number % 2 == 1)) return;
    ended_[number] = last_ = clock_.Now();
    if (responses_[number] != TimePoint()) Count(number);
  }

  // When both the response and the event are here, in any order.
  void Count(size_t number) {
    ++ungated_;
    from_call_.push_back(ended_[number] - sent_[number]);
    from_response_.push_back(std::max(Duration(), ended_[number] - responses_[number]));
  }

  std::string Progress() const {
    return std::to_string(ungated_) + " of " + std::to_string(expected_) + " pods are ungated";
  }

  kube::Client& client_;
  kube::Clock& clock_;
  LoadOptions options_;
  kube::Informer<Pod> pods_;
  kube::TaskGroup tasks_;
  kube::Notifier changed_;
  // Times of each pod; zero: not yet.
  std::vector<TimePoint> sent_;
  std::vector<TimePoint> responses_;
  std::vector<TimePoint> ended_ = std::vector<TimePoint>(sent_.size());
  std::vector<Duration> from_call_;
  std::vector<Duration> from_response_;
  int expected_;
  int ungated_ = 0;
  TimePoint start_;
  TimePoint last_;
  int next_ = 0;
  int creators_ = 0;
  std::optional<Error> failure_;
};

// The state that the writers of RemoveOwnGates() share.
struct Removal {
  kube::Client& client;
  std::vector<Pod> pods;
  size_t next = 0;
  size_t written = 0;
  Result<> result = Ok();

  boost::asio::awaitable<void> Write() {
    co_await kube::IgnoreCancellation();
    while (next < pods.size() && result) {
      Pod pod = std::move(pods[next++]);
      Result<> removed = co_await RemoveGates(client, std::move(pod));
      if (!removed) result = removed.error().Prefix("remove the gates of the benchmark");
      ++written;
    }
  }
};

// Deletes the pods of one namespace.
Async<> DeletePodsOf(kube::Client& client, kube::Clock& clock, std::string ns) {
  std::string target = kube::ResourceOf<Pod>::value.Path(ns);
  kube::AddQuery(target, "labelSelector", "app=load");
  kube::AddQuery(target, "gracePeriodSeconds", "0");
  for (TimePoint deadline = clock.Now() + 300s; clock.Now() < deadline;) {
    kube::ApiRequest request{.method = kube::Method::kDelete, .target = target, .timeout = 300s};
    Result<kube::ApiResponse> deleted = co_await client.Call(std::move(request));
    // The API server gives a call a minute, which thousands of pods may need more than once.
    if (!deleted && deleted.error().code() != kube::Code::kUnavailable) co_return deleted.error();
    kube::ListOptions some{.ns = ns, .label_selector = "app=load"};
    Result<kube::TypedList<Pod>> left = co_await kube::List<Pod>(client, std::move(some));
    if (!left) co_return left.error();
    if (left->items.empty()) co_return Ok();
  }
  co_return Error::DeadlineExceeded("delete the pods of " + ns);
}

}  // namespace

Async<LoadResult> RunLoad(kube::Client& client, kube::Clock& clock, LoadOptions options) {
  auto executor = co_await boost::asio::this_coro::executor;
  Run run(client, clock, std::move(options), executor);
  Result<LoadResult> result = co_await run.Measure();
  co_return result;
}

Async<Duration> RemoveOwnGates(kube::Client& client, kube::Clock& clock, LoadOptions options) {
  std::vector<Pod> pods;
  for (const std::string& ns : options.namespaces) {
    kube::ListOptions of_load{.ns = ns, .label_selector = "app=load"};
    Result<kube::TypedList<Pod>> listed = co_await kube::List<Pod>(client, std::move(of_load));
    if (!listed) co_return listed.error();
    std::move(listed->items.begin(), listed->items.end(), std::back_inserter(pods));
  }
  auto executor = co_await boost::asio::this_coro::executor;
  kube::TaskGroup tasks(executor);
  Removal removal{client, std::move(pods)};
  TimePoint start = clock.Now();
  for (int i = 0; i < options.connections; ++i) tasks.Spawn("writer", removal.Write());
  while (removal.written < removal.pods.size() && removal.result) {
    if (clock.Now() > start + options.timeout)
      removal.result = Error::DeadlineExceeded("removing the gates of the benchmark");
    Result<> slept = co_await clock.Sleep(5ms);
    if (!slept) removal.result = slept;
  }
  Duration took = clock.Now() - start;
  Result<> stopped = co_await tasks.Stop(clock, 5s);
  if (!removal.result) co_return removal.result.error();
  if (!stopped) co_return stopped.error();
  co_return took;
}

Async<Ungated> AwaitUngated(kube::Client& client, kube::Clock& clock, std::string ns,
                            std::chrono::seconds timeout) {
  auto executor = co_await boost::asio::this_coro::executor;
  kube::TaskGroup tasks(executor);
  kube::Informer<Pod> gated(client, clock,
                            {.ns = ns, .label_selector = "app=load", .pack = PackGated});
  TimePoint start = clock.Now();
  tasks.Spawn("watch", gated.Run());
  Result<> done = co_await gated.WaitForSync();
  size_t all = gated.size();
  Ungated ungated;
  while (done && gated.size() > 0) {
    if (ungated.first == Duration() && gated.size() < all) ungated.first = clock.Now() - start;
    if (clock.Now() > start + timeout)
      done = Error::DeadlineExceeded(std::to_string(gated.size()) + " pods are still gated");
    Result<> slept = co_await clock.Sleep(5ms);
    if (!slept) done = slept;
  }
  ungated.last = clock.Now() - start;
  Result<> stopped = co_await tasks.Stop(clock, 5s);
  if (!done) co_return done.error();
  if (!stopped) co_return stopped.error();
  co_return ungated;
}

Async<> DeletePods(kube::Client& client, kube::Clock& clock, std::vector<std::string> namespaces) {
  for (const std::string& ns : namespaces) {
    Result<> deleted = co_await DeletePodsOf(client, clock, ns);
    if (!deleted) co_return deleted.error();
  }
  co_return Ok();
}

}  // namespace benchmarks
