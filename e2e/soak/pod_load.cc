// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/pod_load.h"

#include "api/names.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/pod_history.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Duration;
using kube::Ok;
using kube::Result;
using kube::TimePoint;

namespace {

constexpr char kApp[] = "soak";
constexpr int kCreators = 32;
constexpr int kDeleters = 8;
constexpr auto kCallTimeout = 20s;
// A pod that could not be created for so long is left out: there is no burst after an outage.
constexpr auto kLate = 1s;
constexpr auto kJudgeEvery = 1s;
constexpr int kScheduledEvery = 10;
constexpr const char* kImages[] = {"demo/multi:1", "demo/arm64-amd64:1", "demo/amd64:1",
                                   "demo/arm64:1", "demo/ppc64le-s390x:1"};

}  // namespace

PodLoad::PodLoad(ProcessCluster& cluster, const QuietClock& quiet, SoakLog& log, Options options)
    : cluster_(cluster),
      quiet_(quiet),
      log_(log),
      options_(std::move(options)),
      ledger_(options_.keep),
      pods_(cluster.client(), cluster.clock(), kPods,
            {.label_selector = "app=" + std::string(kApp)},
            [this](const std::string& type, const Json& pod) { OnPod(type, pod); }) {}

void PodLoad::Start(kube::TaskGroup& tasks) {
  start_ = cluster_.clock().Now();
  tasks.Spawn("watch", pods_.Run());
  for (int i = 0; i < kCreators; ++i) tasks.Spawn("create", Create());
  for (int i = 0; i < kDeleters; ++i) tasks.Spawn("delete", Delete());
  tasks.Spawn("judge", Judge());
  tasks.Spawn("report", Report());
}

Json PodLoad::NewPod(int number) const {
  const auto& namespaces = options_.namespaces;
  std::string image = cluster_.Image(kImages[static_cast<size_t>(number) % std::size(kImages)]);
  Json pod = MakePod(std::string(kApp) + "-" + std::to_string(number))
                 .Image(image)
                 .Label("app", kApp)
                 .Namespace(namespaces[static_cast<size_t>(number) % namespaces.size()])
                 .Build();
  bool scheduled = number % kScheduledEvery == 0;
  if (!scheduled) pod["spec"]["schedulerName"] = "nobody";
  pod["spec"]["containers"][0]["imagePullPolicy"] = scheduled ? "Always" : "IfNotPresent";
  return pod;
}

boost::asio::awaitable<void> PodLoad::Create() {
  co_await kube::IgnoreCancellation();
  while (creating_) {
    int number = next_++;
    TimePoint due = start_ + Duration(1s) * number / options_.rate;
    Result<> slept = co_await cluster_.clock().SleepUntil(due);
    if (!slept || !creating_) co_return;
    if (cluster_.clock().Now() - due > kLate) {
      ++counts_.late;
      continue;
    }
    Result<> created = co_await CreateOne(number);
    if (FailedWith(created, kube::Code::kCancelled)) co_return;
    if (!created) ++counts_.failed;
  }
}

Async<> PodLoad::CreateOne(int number) {
  Json pod = NewPod(number);
  kube::ApiRequest request;
  request.method = kube::Method::kPost;
  request.target = kPods.Path(kube::StringAt(pod, "metadata.namespace"));
  request.content_type = kube::kJson;
  request.body = kube::DumpJson(pod);
  request.timeout = kCallTimeout;
  auto created = co_await kube::CallFor<kube::Unstructured>(cluster_.client(), std::move(request));
  if (!created) co_return created.error();
  const Json& body = created->body();
  ++counts_.created;
  if (HasGate(body, api::kClusterGate) && HasGate(body, api::kLocalGate)) ++counts_.both_gates;
  TimePoint now = cluster_.clock().Now();
  ledger_.OnPod(kube::KeyOf(*created), IsGated(body), now, quiet_.At(now));
  co_return Ok();
}

void PodLoad::OnPod(const std::string& type, const Json& pod) {
  kube::ObjectKey key{kube::StringAt(pod, "metadata.namespace"),
                      kube::StringAt(pod, "metadata.name")};
  if (type == "DELETED") {
    ++counts_.deleted;
    ledger_.OnDeleted(key);
    return;
  }
  TimePoint now = cluster_.clock().Now();
  ledger_.OnPod(key, IsGated(pod), now, quiet_.At(now));
}

boost::asio::awaitable<void> PodLoad::Delete() {
  co_await kube::IgnoreCancellation();
  while (true) {
    std::vector<kube::ObjectKey> due = ledger_.TakeDue(cluster_.clock().Now(), 1);
    if (due.empty()) {
      Result<> slept = co_await cluster_.clock().Sleep(100ms);
      if (!slept) co_return;
      continue;
    }
    Result<> deleted = co_await DeleteOne(due.front());
    if (FailedWith(deleted, kube::Code::kCancelled)) co_return;
    // The watch may miss the event, when it has to list again.
    if (deleted || IsNotFound(deleted)) {
      ledger_.OnDeleted(due.front());
    } else {
      ledger_.Return(due.front(), cluster_.clock().Now());
    }
  }
}

Async<> PodLoad::DeleteOne(kube::ObjectKey pod) {
  kube::ApiRequest request;
  request.method = kube::Method::kDelete;
  request.target = kPods.Path(pod.ns, pod.name);
  request.timeout = kCallTimeout;
  kube::AddQuery(request.target, "gracePeriodSeconds", "0");
  Result<> deleted = co_await kube::Send(cluster_.client(), std::move(request));
  co_return deleted;
}

boost::asio::awaitable<void> PodLoad::Judge() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<> slept = co_await cluster_.clock().Sleep(kJudgeEvery);
    if (!slept) co_return;
    auto gated = ledger_.LongestGated(quiet_.At(cluster_.clock().Now()));
    if (!gated) continue;
    longest_ = std::max(longest_, gated->waited);
    if (gated->waited <= options_.longest_gated || !quiet_.quiet()) continue;
    Result<> judged = co_await JudgeOne(*gated);
    if (FailedWith(judged, kube::Code::kCancelled)) co_return;
  }
}

Async<> PodLoad::JudgeOne(PodLedger::Gated gated) {
  auto pod = co_await kube::GetObject(cluster_.client(), kPods, gated.pod);
  if (IsNotFound(pod)) ledger_.OnDeleted(gated.pod);
  if (!pod) co_return pod.error();
  TimePoint now = cluster_.clock().Now();
  if (!IsGated(pod->body())) {
    ledger_.OnPod(gated.pod, false, now, quiet_.At(now));
    co_return Ok();
  }
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(gated.waited);
  log_.Fail("pod " + gated.pod.ToString() + " is gated for " + std::to_string(seconds.count()) +
            " s without faults: " + kube::DumpJson(pod->body()["spec"]["schedulingGates"]) + " " +
            kube::DumpJson(pod->body()["metadata"]["labels"]));
  // It is reported once. Nobody waits for it.
  ledger_.OnPod(gated.pod, false, now, quiet_.At(now));
  co_return Ok();
}

boost::asio::awaitable<void> PodLoad::Report() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<> slept = co_await cluster_.clock().Sleep(options_.report_every);
    if (!slept) co_return;
    log_.Write("pods", {{"created", counts_.created},
                        {"both_gates", counts_.both_gates},
                        {"failed", counts_.failed},
                        {"late", counts_.late},
                        {"deleted", counts_.deleted},
                        {"exist", ledger_.size()},
                        {"gated", ledger_.gated()},
                        {"longest_gated", std::chrono::duration<double>(longest_).count()}});
    longest_ = {};
  }
}

}  // namespace e2e
