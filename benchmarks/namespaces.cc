// SPDX-License-Identifier: Apache-2.0
// namespaces: what many namespaces with a PodPlacementConfig cost: the time until all shards are
// there, API requests per namespace, the operator's memory and its restart, and what everything
// costs at rest. See README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/create_many.h"
#include "benchmarks/is_available.h"
#include "benchmarks/start_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/cluster_harness/request_log.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

DEFINE_int32(namespaces, 1000, "Namespaces with one PodPlacementConfig each.");
DEFINE_bool(processes, false,
            "Run the programs of the shards. Without it, only the operator runs, and the pods of "
            "the other programs are reported as running.");
DEFINE_int32(rest, 60, "Seconds in which the requests at rest are counted.");
DEFINE_int32(timeout, 1800, "Of each step, in seconds.");
DEFINE_string(folder, "/tmp/pod-placement-benchmark", "For data and logs of all processes.");

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using e2e::Json;
using e2e::PodProcess;
using e2e::ProcessCluster;
using e2e::ProcessCost;
using kube::Error;
using kube::Ok;
using kube::Result;

// Its ServiceAccount.
constexpr std::string_view kOperator = "multiarch-tuning-operator";
// An operator with fewer requests than this in two windows has caught up; some of them are due to
// time alone. Leases do not count, nor do reads of Secrets: it spreads those over some minutes.
constexpr auto kQuietWindow = 1s;
constexpr int kQuietRequests = 3;

double Seconds(kube::Duration time) { return std::chrono::duration<double>(time).count(); }
double MiB(long kb) { return static_cast<double>(kb) / 1024; }

std::string NameOf(int number) { return "scale-" + std::to_string(number); }

Json NamespaceNumber(int number) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", NameOf(number)}}}};
}

Json ConfigNumber(int number) {
  return e2e::MakeConfig("arm64-first")
      .Namespace(NameOf(number))
      .Prefer("arm64", 75)
      .Prefer("amd64", 25)
      .Build();
}

class Benchmark {
 public:
  explicit Benchmark(ProcessCluster& cluster)
      : cluster_(cluster), requests_(cluster.control_plane().audit_log()) {}

  Result<> Run() {
    Result<> created = CreateAll();
    if (!created) return created;
    Result<kube::TimePoint> settled = AwaitQuiet();
    if (!settled) return settled.error();
    Result<> reported = ReportRequests();
    if (!reported) return reported;
    ReportMemory("settled");
    Result<> rested = Rest();
    if (!rested) return rested;
    Result<> restarted = Restart();
    if (!restarted) return restarted;
    ReportMemory("after the restart");
    return Ok();
  }

 private:
  // The namespaces, then a PodPlacementConfig in each, then waits until all are available.
  Result<> CreateAll() {
    const auto timeout = std::chrono::seconds(FLAGS_timeout);
    Result<> namespaces =
        CreateMany(cluster_, e2e::kNamespaces, FLAGS_namespaces, NamespaceNumber, timeout);
    if (!namespaces) return namespaces.error().Prefix("create the namespaces");
    requests_.Skip();
    kube::TimePoint start = cluster_.clock().Now();
    Result<> configs = CreateMany(cluster_, e2e::kConfigs, FLAGS_namespaces, ConfigNumber, timeout);
    if (!configs) return configs.error().Prefix("create the PodPlacementConfigs");
    std::printf("%d PodPlacementConfigs created in        %6.1f s\n", FLAGS_namespaces,
                Seconds(cluster_.clock().Now() - start));

    kube::TimePoint report = start;
    while (true) {
      auto listed = cluster_.Run(kube::ListObjects(cluster_.client(), e2e::kConfigs, {}));
      if (!listed) return listed.error();
      auto available = std::count_if(listed->items.begin(), listed->items.end(), IsAvailable);
      kube::TimePoint now = cluster_.clock().Now();
      if (available == FLAGS_namespaces) break;
      if (now > start + std::chrono::seconds(FLAGS_timeout)) {
        return Error::DeadlineExceeded(std::to_string(available) +
                                       " PodPlacementConfigs are available");
      }
      if (now >= report) {
        std::fprintf(stderr, "  %4.0f s: %ld available\n", Seconds(now - start), available);
        report = now + 15s;
      }
      cluster_.Pause(1s);
    }
    std::printf("all of them available after               %6.1f s\n",
                Seconds(cluster_.clock().Now() - start));
    return Ok();
  }

  Result<> ReportRequests() {
    Result<std::map<std::string, int>> counts = CountByKind(kOperator);
    if (!counts) return counts.error();
    std::printf("requests of the operator, per namespace:\n");
    double all = 0;
    for (const auto& [kind, count] : *counts) {
      double each = static_cast<double>(count) / FLAGS_namespaces;
      all += each;
      if (each >= 0.01) std::printf("  %-70s %6.2f\n", kind.c_str(), each);
    }
    std::printf("  %-70s %6.2f\n", "all", all);
    return Ok();
  }

  // The requests since the last call, of one ServiceAccount or, if that is empty, of all.
  Result<std::map<std::string, int>> CountByKind(std::string_view account) {
    Result<std::vector<e2e::LoggedRequest>> requests = requests_.Read();
    if (!requests) return requests.error();
    std::map<std::string, int> counts;
    for (const e2e::LoggedRequest& request : *requests) {
      if (account.empty() || request.account == account) ++counts[request.Kind()];
    }
    return counts;
  }

  void ReportMemory(const char* when) {
    struct Sum {
      long own = 0, largest_own = 0, largest = 0;
      int processes = 0;
    };
    std::map<std::string, Sum> sums;
    for (const char* program : {"operator", "cluster-controller", "shard", "webhook"}) {
      for (PodProcess* process : cluster_.kubelet().OfProgram(program, "")) {
        auto pid = process->pid();
        if (!pid) continue;
        Result<ProcessCost> cost = e2e::CostOf(*pid);
        if (!cost) continue;
        Sum& sum = sums[program];
        sum.own += cost->own_rss_kb;
        sum.largest_own = std::max(sum.largest_own, cost->own_rss_kb);
        sum.largest = std::max(sum.largest, cost->rss_kb);
        ++sum.processes;
      }
    }
    for (const auto& [program, sum] : sums) {
      std::printf("memory %s: %d %s, private %.1f MiB each (largest %.1f), largest RSS %.1f MiB\n",
                  when, sum.processes, program.c_str(), MiB(sum.own) / sum.processes,
                  MiB(sum.largest_own), MiB(sum.largest));
    }
    std::fflush(stdout);
  }

  // Counts the requests of all programs while nothing happens.
  Result<> Rest() {
    requests_.Skip();
    cluster_.Pause(std::chrono::seconds(FLAGS_rest));
    Result<std::map<std::string, int>> counts = CountByKind("");
    if (!counts) return counts.error();
    int all = 0;
    for (const auto& [kind, count] : *counts) all += count;
    std::printf("at rest, %d s: %.2f requests/s\n", FLAGS_rest,
                static_cast<double>(all) / FLAGS_rest);
    for (const auto& [kind, count] : *counts)
      std::printf("  %-70s %6.2f /s\n", kind.c_str(), static_cast<double>(count) / FLAGS_rest);
    return Ok();
  }

  // Kills the operator's processes and waits until their successors have nothing to do.
  Result<> Restart() {
    requests_.Skip();
    std::map<PodProcess*, int> restarts;
    for (PodProcess* process : cluster_.kubelet().OfProgram("operator", "")) {
      restarts[process] = process->restarts();
      process->Crash();
    }
    while (!restarts.empty()) {
      cluster_.Pause(10ms);
      std::erase_if(restarts, [](const auto& entry) {
        return entry.first->restarts() > entry.second && entry.first->pid();
      });
    }
    kube::TimePoint start = cluster_.clock().Now();
    Result<kube::TimePoint> quiet = AwaitQuiet();
    if (!quiet) return quiet.error();
    Result<std::map<std::string, int>> counts = CountByKind(kOperator);
    if (!counts) return counts.error();
    std::printf("restart of the operator: caught up after  %6.1f s, with\n",
                Seconds(*quiet - start));
    for (const auto& [kind, count] : *counts) std::printf("  %-70s %6d\n", kind.c_str(), count);
    return Ok();
  }

  // Waits until the operator sends no requests. Returns since when.
  Result<kube::TimePoint> AwaitQuiet() {
    e2e::RequestLog log(cluster_.control_plane().audit_log());
    log.Skip();
    kube::TimePoint deadline = cluster_.clock().Now() + std::chrono::seconds(FLAGS_timeout);
    kube::TimePoint since = cluster_.clock().Now();
    while (cluster_.clock().Now() < deadline) {
      cluster_.Pause(kQuietWindow);
      Result<std::vector<e2e::LoggedRequest>> requests = log.Read();
      if (!requests) return requests.error();
      auto sent = std::count_if(requests->begin(), requests->end(), [](const auto& request) {
        return request.account == kOperator && request.resource != "leases" &&
               !(request.resource == "secrets" && request.verb == "get");
      });
      kube::TimePoint now = cluster_.clock().Now();
      if (sent > kQuietRequests) since = now;
      if (now - since >= 2 * kQuietWindow) return since;
    }
    return Error::DeadlineExceeded("the operator does not catch up");
  }

  ProcessCluster& cluster_;
  e2e::RequestLog requests_;
};

Result<> Main() {
  auto cluster = StartCluster(FLAGS_folder, {.audit = true});
  if (!cluster) return cluster.error();
  if (!FLAGS_processes) {
    for (const char* program : {"cluster-controller", "shard", "webhook"})
      (*cluster)->kubelet().OnlyReport(program);
  }
  Result<> deployed = (*cluster)->DeployOperator();
  if (!deployed) return deployed;
  kube::Unstructured config(e2e::MakeClusterConfig().Build());
  for (auto deadline = (*cluster)->clock().Now() + 60s;; (*cluster)->Pause(100ms)) {
    auto created =
        (*cluster)->Run(kube::CreateObject((*cluster)->client(), e2e::kClusterConfigs, config));
    if (created) break;
    if ((*cluster)->clock().Now() > deadline) return created.error();
  }
  return Benchmark(**cluster).Run();
}

}  // namespace
}  // namespace benchmarks

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  kube::Result<> done = benchmarks::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
