// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/sampler.h"

#include "e2e/soak/process_sample.h"
#include "kube/client/read_file.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

constexpr auto kTimeout = 3s;

}  // namespace

Sampler::Sampler(ProcessCluster& cluster, const FleetLoad& fleet, const Faults& faults,
                 SoakLog& log, std::chrono::milliseconds every)
    : cluster_(cluster), fleet_(fleet), faults_(faults), log_(log), every_(every) {}

boost::asio::awaitable<void> Sampler::Run() {
  co_await kube::IgnoreCancellation();
  Result<std::string> token = kube::ReadFile(cluster_.connection().token_file);
  if (token) {
    token_ = *token;
  } else {
    log_.Fail("the admin's token: " + token.error().ToString());
  }
  kube::TimePoint next = cluster_.clock().Now();
  while (true) {
    Result<> sampled = co_await SampleAll();
    if (FailedWith(sampled, kube::Code::kCancelled)) co_return;
    next += every_;
    Result<> slept = co_await cluster_.clock().SleepUntil(next);
    if (!slept) co_return;
  }
}

Async<> Sampler::SampleAll() {
  double t = std::round(log_.Seconds(cluster_.clock().Now()) * 100) / 100;
  std::vector<SoakedProcess> processes = ProcessesOf(cluster_, fleet_);
  for (const SoakedProcess& process : processes) {
    Json line = {{"t", t},
                 {"program", process.program},
                 {"process", process.name},
                 {"series", SeriesOf(process)},
                 {"restarts", process.restarts},
                 {"tasks", nullptr},
                 {"requests", nullptr}};
    if (!faults_.IsFrozen(process.pid)) {
      Result<Json> metrics = co_await ReadMetrics(process);
      if (FailedWith(metrics, kube::Code::kCancelled)) co_return metrics.error();
      if (metrics) line.update(*metrics);
    }
    Result<KernelSample> kernel = ReadKernelSample(process.pid, process.log_file);
    if (!kernel) continue;  // it has ended meanwhile
    line["rss_kb"] = kernel->rss_kb;
    line["fds"] = kernel->fds;
    line["log_bytes"] = kernel->log_bytes;
    log_.Write("process", std::move(line));
  }
  co_return Ok();
}

int Sampler::SeriesOf(const SoakedProcess& process) {
  Known& known = known_[process.name];
  if (known.pid != process.pid && known.pid != 0) ++known.series;
  known.pid = process.pid;
  int unexplained = process.restarts - faults_.Kills(process.name);
  if (unexplained > known.unexplained) {
    known.unexplained = unexplained;
    log_.Fail(process.program + " " + process.name +
              " ended, although no fault killed it; its log "
              "ends with:\n" +
              TailOfFile(process.log_file, 2000));
  }
  return known.series;
}

Async<Json> Sampler::ReadMetrics(SoakedProcess process) {
  auto pool = kube::HttpPool::New(cluster_.io().get_executor(), cluster_.clock(), process.metrics,
                                  kube::PoolOptions());
  kube::HttpRequest request;
  request.target = "/metrics";
  request.timeout = kTimeout;
  request.headers.emplace_back("Authorization", "Bearer " + token_);
  Result<kube::HttpResponse> answer = co_await pool->Call(std::move(request));
  if (!answer) co_return answer.error();
  if (answer->status != 200) co_return Error::Unavailable(std::to_string(answer->status));
  Json metrics = Json::object();
  auto tasks = SumOfMetric(answer->body, "process_tasks");
  if (tasks) metrics["tasks"] = *tasks;
  // A webhook that calls no API has no such metric.
  metrics["requests"] = SumOfMetric(answer->body, "rest_client_requests_total").value_or(0);
  co_return metrics;
}

}  // namespace e2e
