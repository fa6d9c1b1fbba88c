// SPDX-License-Identifier: Apache-2.0
// pods: what the gates cost. Bare writes against pods through one gate and through both, our
// processes' CPU and memory. Everything in one run and on one machine, so that the ratios mean
// something. See README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <map>

#include "api/names.h"
#include "benchmarks/load.h"
#include "benchmarks/start_cluster.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"

DEFINE_int32(pods, 2000, "Pods of each run.");
DEFINE_int32(connections, 32, "Creating calls at a time.");
DEFINE_int32(rate, 50, "New pods a second in the run that measures latency.");
DEFINE_string(runs, "bare,one,both,paced,backlog,waiting", "Which runs to do.");
DEFINE_int32(timeout, 300, "Seconds that a run may take.");
DEFINE_string(folder, "/tmp/pod-placement-benchmark", "For the logs of all processes.");

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using e2e::CostOf;
using e2e::Json;
using e2e::ProcessCost;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kSelected[] = "pod-placement-benchmark";
constexpr char kRegistries[] = "benchmark-registries";
constexpr char kImage[] = "demo/multi:1";
// Our processes give free memory back to the system each half minute, and may have events left to
// send.
constexpr auto kUntilTrimmed = 60s;

double Millis(kube::Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}
double Seconds(kube::Duration time) { return std::chrono::duration<double>(time).count(); }

bool Wanted(const std::string& run) {
  return ("," + FLAGS_runs + ",").find("," + run + ",") != std::string::npos;
}

// `share` between 0 and 1 of the sorted `times`.
double Percentile(const std::vector<kube::Duration>& times, double share) {
  if (times.empty()) return 0;
  return Millis(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]);
}

class Benchmark {
 public:
  Benchmark(e2e::ProcessCluster& cluster, std::unique_ptr<kube::Client> client)
      : cluster_(cluster), client_(std::move(client)) {}

  Result<> Run();

 private:
  Result<> MakeNamespace(const std::string& ns, bool selected);
  Result<> Configure();
  // Until a new pod of `ns` gets every one of `gates` and loses them all again.
  Result<> AwaitGates(const std::string& ns, std::vector<std::string_view> gates);
  LoadOptions Load(const std::string& ns) const {
    return {.ns = ns,
            .pods = FLAGS_pods,
            .image = cluster_.Image(kImage),
            .connections = FLAGS_connections,
            .timeout = std::chrono::seconds(FLAGS_timeout)};
  }
  // One line of the report, and the line of what it cost our processes.
  Result<> Measure(const std::string& title, LoadOptions options, bool ours);
  Result<> MeasureBacklog(const std::string& title, const std::string& program,
                          const std::string& home, const std::string& ns);
  Result<> MeasureWaiting();

  // By what it is, such as "webhook of the cluster".
  std::map<std::string, std::vector<pid_t>> Processes();
  std::map<std::string, ProcessCost> Costs();
  // Of the control plane's programs.
  std::map<std::string, ProcessCost> PlaneCosts();
  void PrintMemory(const char* when);
  // CPU from `before` to `after`, divided by `pods`.
  static void PrintCpu(const char* what, std::map<std::string, ProcessCost> before,
                       const std::map<std::string, ProcessCost>& after, int pods);
  // Until our processes have nothing left to do: events go out when no pod waits.
  Result<> AwaitQuiet();

  e2e::ProcessCluster& cluster_;
  std::unique_ptr<kube::Client> client_;
  double bare_ = 0;
};

Result<> Benchmark::MakeNamespace(const std::string& ns, bool selected) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}};
  if (selected) object["metadata"]["labels"] = {{kSelected, "true"}};
  auto created = cluster_.Run(
      kube::CreateObject(*client_, e2e::kNamespaces, kube::Unstructured(std::move(object))));
  if (!created) return created.error();
  // Pods need their namespace's default service account.
  for (auto deadline = cluster_.clock().Now() + 30s; cluster_.clock().Now() < deadline;
       cluster_.Pause(20ms)) {
    auto account = cluster_.Run(kube::GetObject(*client_, e2e::kServiceAccounts, {ns, "default"}));
    if (account) return Ok();
  }
  return Error::DeadlineExceeded("namespace " + ns + " is not usable");
}

Result<> Benchmark::Configure() {
  Json registries = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  registries["metadata"] = {{"name", kRegistries}, {"namespace", cluster_.operator_namespace()}};
  registries["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + cluster_.registry() + "\"\ninsecure = true\n";
  auto created =
      cluster_.Run(kube::CreateObject(*client_, e2e::kConfigMaps, kube::Unstructured(registries)));
  if (!created) return created.error();
  Json config = e2e::MakeClusterConfig()
                    .ForNamespaces(kSelected, "true")
                    .Set("/spec/registriesConfigMapRef/name", kRegistries)
                    // A shard that is held back on purpose is not to be taken over.
                    .Set("/spec/shardTakeoverAfter", "1h")
                    .Build();
  for (auto deadline = cluster_.clock().Now() + 60s;; cluster_.Pause(100ms)) {
    created = cluster_.Run(
        kube::CreateObject(*client_, e2e::kClusterConfigs, kube::Unstructured(config)));
    if (created) return Ok();
    if (cluster_.clock().Now() > deadline) return created.error();
  }
}

Result<> Benchmark::AwaitGates(const std::string& ns, std::vector<std::string_view> gates) {
  std::string missing;
  for (auto deadline = cluster_.clock().Now() + 120s; cluster_.clock().Now() < deadline;
       cluster_.Pause(200ms)) {
    Json pod = e2e::MakePod("probe")
                   .Image(cluster_.Image(kImage))
                   .Label("app", "load")
                   .Namespace(ns)
                   .Build();
    pod["spec"]["schedulerName"] = "nobody";
    pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1m"}, {"memory", "1Mi"}}},
                                                 {"limits", {{"cpu", "1m"}, {"memory", "1Mi"}}}};
    auto created = cluster_.Run(kube::CreateObject(*client_, e2e::kPods, kube::Unstructured(pod)));
    if (!created) {
      missing = created.error().message();
      continue;
    }
    std::string found =
        created->body().value("/spec/schedulingGates"_json_pointer, Json::array()).dump();
    bool all = true;
    for (std::string_view gate : gates) all = all && found.find(gate) != std::string::npos;
    missing = "a new pod has the gates " + found;
    auto freed = cluster_.Run(AwaitFree(*client_, cluster_.clock(), ns, 20s));
    if (!freed) missing = freed.error().message();
    Result<> deleted = cluster_.Run(DeletePods(*client_, cluster_.clock(), ns));
    if (!deleted) return deleted;
    if (all && freed) return Ok();
  }
  return Error::DeadlineExceeded("namespace " + ns + ": " + missing);
}

std::map<std::string, std::vector<pid_t>> Benchmark::Processes() {
  std::map<std::string, std::vector<pid_t>> all;
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    for (e2e::PodProcess* process : cluster_.kubelet().OfProgram(program, "")) {
      bool of_cluster = process->ns() == cluster_.operator_namespace();
      auto pid = process->pid();
      if (!pid) continue;
      all[std::string(program) == "webhook" ? (of_cluster ? "cluster webhook" : "local webhook")
                                            : program]
          .push_back(*pid);
    }
  }
  return all;
}

std::map<std::string, ProcessCost> Benchmark::Costs() {
  std::map<std::string, ProcessCost> costs;
  for (const auto& [name, pids] : Processes()) {
    for (pid_t pid : pids) {
      Result<ProcessCost> cost = CostOf(pid);
      if (!cost) continue;
      ProcessCost& sum = costs[name];
      sum.cpu += cost->cpu;
      sum.system += cost->system;
      // Of several replicas the largest: the budget is that of one process.
      sum.rss_kb = std::max(sum.rss_kb, cost->rss_kb);
      sum.peak_rss_kb = std::max(sum.peak_rss_kb, cost->peak_rss_kb);
    }
  }
  return costs;
}

std::map<std::string, ProcessCost> Benchmark::PlaneCosts() {
  std::map<std::string, ProcessCost> costs;
  for (const auto& [name, pid] : cluster_.control_plane().Pids()) {
    Result<ProcessCost> cost = CostOf(pid);
    if (cost) costs[name] = *cost;
  }
  return costs;
}

void Benchmark::PrintMemory(const char* when) {
  std::printf("  memory %-38s", when);
  for (const auto& [name, cost] : Costs()) {
    std::printf("  %s %.1f (peak %.1f)", name.c_str(), static_cast<double>(cost.rss_kb) / 1024,
                static_cast<double>(cost.peak_rss_kb) / 1024);
  }
  std::printf("  MiB\n");
  std::fflush(stdout);
}

void Benchmark::PrintCpu(const char* what, std::map<std::string, ProcessCost> before,
                         const std::map<std::string, ProcessCost>& after, int pods) {
  std::printf("  CPU %-41s", what);
  for (const auto& [name, cost] : after) {
    std::printf("  %s %.3f (%.3f)", name.c_str(), Millis(cost.cpu - before[name].cpu) / pods,
                Millis(cost.system - before[name].system) / pods);
  }
  std::printf("  ms a pod (of it in the kernel)\n");
}

Result<> Benchmark::AwaitQuiet() {
  for (auto deadline = cluster_.clock().Now() + std::chrono::seconds(FLAGS_timeout);;) {
    std::map<std::string, ProcessCost> before = Costs();
    cluster_.Pause(500ms);
    std::chrono::nanoseconds busiest{};
    for (const auto& [name, cost] : Costs())
      busiest = std::max(busiest, cost.cpu - before[name].cpu);
    if (busiest < 5ms) return Ok();
    if (cluster_.clock().Now() > deadline)
      return Error::DeadlineExceeded("our processes do not come to rest");
  }
}

Result<> Benchmark::Measure(const std::string& title, LoadOptions options, bool ours) {
  std::map<std::string, ProcessCost> before = Costs();
  std::map<std::string, ProcessCost> plane_before = PlaneCosts();
  std::string ns = options.ns;
  int pods = options.pods;
  int rate = options.rate;
  Result<LoadResult> load = cluster_.Run(RunLoad(*client_, cluster_.clock(), std::move(options)));
  if (!load) return load.error().Prefix(title);

  double per_second = pods / Seconds(load->freed);
  if (bare_ == 0) bare_ = per_second;
  std::printf("%-45s", title.c_str());
  if (rate == 0) {
    std::printf("  %5.0f pods/s  %3.0f %% of bare", per_second, per_second / bare_ * 100);
  } else {
    std::printf("  %5d pods/s              ", rate);
  }
  std::printf("   free after p50 %.1f ms, p99 %.1f ms\n", Percentile(load->waits, 0.5),
              Percentile(load->waits, 0.99));
  PrintCpu("of the control plane", plane_before, PlaneCosts(), pods);
  if (ours) {
    PrintCpu("until the pods are free", before, Costs(), pods);
    Result<> quiet = AwaitQuiet();
    if (!quiet) return quiet;
    PrintCpu("with all their events", before, Costs(), pods);
    PrintMemory("after it");
  }
  std::fflush(stdout);
  return cluster_.Run(DeletePods(*client_, cluster_.clock(), ns));
}

// A controller (`program` in namespace `home`) that comes back and finds all pods of `ns` waiting:
// its list, its queue and its cache are as long as they get.
Result<> Benchmark::MeasureBacklog(const std::string& title, const std::string& program,
                                   const std::string& home, const std::string& ns) {
  cluster_.kubelet().FailImagePulls(program, home, true);
  std::string pods = e2e::kPods.Path(home);
  kube::AddQuery(pods, "labelSelector", std::string(api::kOperandLabel) + "=" + program);
  kube::ApiRequest remove{.method = kube::Method::kDelete, .target = pods};
  auto removed = cluster_.Run(client_->Call(remove));
  if (!removed) return removed.error();
  for (auto deadline = cluster_.clock().Now() + 60s;
       !cluster_.kubelet().OfProgram(program, home).empty();) {
    if (cluster_.clock().Now() > deadline)
      return Error::DeadlineExceeded("the " + program + " does not stop");
    cluster_.Pause(100ms);
  }

  LoadOptions options = Load(ns);
  options.await_free = false;
  Result<LoadResult> load = cluster_.Run(RunLoad(*client_, cluster_.clock(), options));
  if (!load) return load.error().Prefix(title);
  PrintMemory(("while all pods wait for their " + program).c_str());

  std::map<std::string, ProcessCost> before = Costs();
  cluster_.kubelet().FailImagePulls(program, home, false);
  while (cluster_.kubelet().OfProgram(program, home).empty()) cluster_.Pause(10ms);
  auto took =
      cluster_.Run(AwaitFree(*client_, cluster_.clock(), ns, std::chrono::seconds(FLAGS_timeout)));
  if (!took) return took.error().Prefix(title);
  std::printf("%-45s  %5.0f pods/s, its start included\n", title.c_str(),
              FLAGS_pods / Seconds(*took));
  PrintCpu("until the pods are free", before, Costs(), FLAGS_pods);
  Result<> quiet = AwaitQuiet();
  if (!quiet) return quiet;
  PrintMemory("after it");
  return cluster_.Run(DeletePods(*client_, cluster_.clock(), ns));
}

// A registry that does not answer: the controller holds every pod.
Result<> Benchmark::MeasureWaiting() {
  cluster_.test_registry().Freeze();
  LoadOptions options = Load("one-gate");
  options.await_free = false;
  options.image = cluster_.Image("demo/multi:frozen");
  Result<LoadResult> load = cluster_.Run(RunLoad(*client_, cluster_.clock(), options));
  if (!load) return load.error().Prefix("a frozen registry");
  cluster_.Pause(1s);
  PrintMemory("while all pods wait for a registry");
  Result<> deleted = cluster_.Run(DeletePods(*client_, cluster_.clock(), options.ns));
  cluster_.test_registry().Thaw();
  return deleted;
}

Result<> Benchmark::Run() {
  for (const char* ns : {"bare", "one-gate", "both-gates"}) {
    Result<> made = MakeNamespace(ns, std::string(ns) != "bare");
    if (!made) return made.error().Prefix("create a namespace");
  }
  Result<> done = Configure();
  if (!done) return done.error().Prefix("ClusterPodPlacementConfig");
  done = AwaitGates("one-gate", {api::kClusterGate});
  if (!done) return done;
  Json config = e2e::MakeConfig("arm64-first")
                    .Namespace("both-gates")
                    .Prefer("arm64", 75)
                    .Prefer("amd64", 25)
                    .Build();
  auto created =
      cluster_.Run(kube::CreateObject(*client_, e2e::kConfigs, kube::Unstructured(config)));
  if (!created) return created.error().Prefix("PodPlacementConfig");
  done = AwaitGates("both-gates", {api::kClusterGate, api::kLocalGate});
  if (!done) return done;
  cluster_.Pause(2s);
  std::printf("%d pods a run, %d calls at a time\n", FLAGS_pods, FLAGS_connections);
  PrintMemory("idle");

  // The bare writes come first and last: what changes between them is the machine, not us.
  LoadOptions bare = Load("bare");
  LoadOptions bare_put = bare;
  bare_put.own_gate = true;
  LoadOptions paced = Load("both-gates");
  paced.rate = FLAGS_rate;
  paced.pods = std::min(FLAGS_pods, 20 * FLAGS_rate);
  // Not reported: connections, caches and the API server's own heap get warm.
  auto warm = cluster_.Run(RunLoad(*client_, cluster_.clock(), bare_put));
  if (!warm) return warm.error().Prefix("warming up");
  done = cluster_.Run(DeletePods(*client_, cluster_.clock(), "bare"));
  if (done && Wanted("bare")) done = Measure("bare: create", bare, false);
  if (done && Wanted("bare"))
    done = Measure("bare: create, and a PUT that drops a gate", bare_put, false);
  if (done && Wanted("one")) done = Measure("one gate", Load("one-gate"), true);
  if (done && Wanted("both")) done = Measure("both gates", Load("both-gates"), true);
  if (done && Wanted("paced")) done = Measure("both gates, paced", paced, true);
  if (done && Wanted("backlog")) {
    done = MeasureBacklog("one gate, a backlog of all pods", "cluster-controller",
                          cluster_.operator_namespace(), "one-gate");
  }
  if (done && Wanted("backlog")) {
    done = MeasureBacklog("both gates, a backlog of all pods", "shard", "both-gates", "both-gates");
  }
  if (done && Wanted("waiting")) done = MeasureWaiting();
  if (done && Wanted("bare")) done = Measure("bare: create, again", bare, false);
  if (done) cluster_.Pause(kUntilTrimmed);
  if (done) PrintMemory("idle again");
  return done;
}

Result<> Main() {
  auto cluster = StartCluster(FLAGS_folder);
  if (!cluster) return cluster.error();
  Result<> deployed = (*cluster)->DeployOperator();
  if (!deployed) return deployed;

  auto config = kube::LoadKubeconfig((*cluster)->control_plane().admin_kubeconfig());
  if (!config) return config.error();
  kube::ClientOptions options{.user_agent = "benchmark",
                              .max_connections = static_cast<size_t>(FLAGS_connections)};
  auto client =
      kube::NewClient((*cluster)->io().get_executor(), kube::RealClock(), *config, options);
  if (!client) return client.error();
  return Benchmark(**cluster, std::move(*client)).Run();
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
