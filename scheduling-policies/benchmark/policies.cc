// SPDX-License-Identifier: Apache-2.0
// policies: what scheduling policies cost pods that they do not select, pods that they are compared
// with, and pods that they change; with many policies in other namespaces. See README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "api/names.h"
#include "benchmarks/create_many.h"
#include "benchmarks/pods_harness.h"
#include "benchmarks/registry_process.h"
#include "benchmarks/start_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/framework/resources.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/types/object_fields.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"

DEFINE_int32(policies, 2000, "PodSchedulingPolicies in other namespaces.");
DEFINE_int32(namespaces, 500, "Their namespaces.");
DEFINE_int32(pods, 2000, "Pods of each run.");
DEFINE_int32(connections, 16, "Concurrent calls that create pods.");
DEFINE_int32(rounds, 3, "How often each run is done; they alternate.");
DEFINE_int32(timeout, 600, "Of each step, in seconds.");
DEFINE_string(folder, "/tmp/pod-placement-benchmark", "For data and logs of all processes.");

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using e2e::Json;
using kube::Error;
using kube::Ok;
using kube::Result;

// No PodPlacementConfig and no gate there, so that only policies count.
constexpr const char* kPlain = kNoGates;

double Seconds(kube::Duration time) { return std::chrono::duration<double>(time).count(); }

std::string NamespaceNumber(int number) { return "policies-" + std::to_string(number); }

Json Policy(const std::string& ns, const std::string& name, Json labels) {
  Json policy = {{"apiVersion", "kupid.gardener.cloud/v1alpha1"}, {"kind", "PodSchedulingPolicy"}};
  policy["metadata"] = {{"name", name}, {"namespace", ns}};
  policy["spec"]["podSelector"]["matchLabels"] = std::move(labels);
  policy["spec"]["tolerations"] =
      Json::array({{{"key", "arm64"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  policy["spec"]["nodeSelector"]["pool"] = "a";
  return policy;
}

bool IsReady(const kube::Unstructured& policy) {
  return kube::ConditionStatus(policy.body(), policy::kReady) == "True";
}

// The cost of all replicas of the policy webhook.
struct WebhookCost {
  std::chrono::nanoseconds cpu{};
  long largest_rss_kb = 0;
  long largest_own_kb = 0;
};

class Benchmark {
 public:
  explicit Benchmark(PodsHarness& harness) : harness_(harness), cluster_(harness.cluster()) {}

  Result<> Run() {
    Result<> done = harness_.Configure();
    if (!done) return done;
    std::printf("%d pods a run, %d calls at a time\n", FLAGS_pods, FLAGS_connections);
    auto warm = Measure(nullptr);
    if (!warm) return warm;
    for (int round = 0; round < FLAGS_rounds; ++round) {
      if (done = Measure("no policies"); !done) return done;
    }
    if (done = CreatePolicies(); !done) return done;
    for (int round = 0; round < FLAGS_rounds; ++round) {
      for (Result<> (Benchmark::*run)() :
           {&Benchmark::Elsewhere, &Benchmark::NotSelected, &Benchmark::Selected}) {
        if (done = (this->*run)(); !done) return done;
      }
    }
    return Ok();
  }

 private:
  Result<> Elsewhere() { return Measure("policies in other namespaces"); }
  Result<> NotSelected() {
    return WithPolicy("a policy that does not select them", {{"app", "other"}});
  }
  Result<> Selected() { return WithPolicy("a policy that selects them", Json::object()); }

  // Enables the plugin, and waits until all policies are Ready.
  Result<> CreatePolicies() {
    Json patch = {{"spec", {{"plugins", {{"schedulingPolicies", {{"enabled", true}}}}}}}};
    auto enabled = cluster_.Run(kube::PatchObject(cluster_.client(), e2e::kClusterConfigs,
                                                  {"", std::string(api::kClusterConfigName)},
                                                  kube::kMergePatch, patch));
    if (!enabled) return enabled.error().Prefix("enable the plugin");
    const auto timeout = std::chrono::seconds(FLAGS_timeout);
    Result<> namespaces = CreateMany(
        cluster_, e2e::kNamespaces, FLAGS_namespaces,
        [](int number) {
          return Json{{"apiVersion", "v1"},
                      {"kind", "Namespace"},
                      {"metadata", {{"name", NamespaceNumber(number)}}}};
        },
        timeout);
    if (!namespaces) return namespaces.error().Prefix("create the namespaces");
    kube::TimePoint start = cluster_.clock().Now();
    Result<> created = CreateMany(
        cluster_, policy::kPodSchedulingPolicies, FLAGS_policies,
        [](int number) {
          return Policy(NamespaceNumber(number % FLAGS_namespaces), "p-" + std::to_string(number),
                        {{"app", std::to_string(number)}});
        },
        timeout);
    if (!created) return created.error().Prefix("create the policies");
    std::printf("%d policies in %d namespaces created in %.1f s", FLAGS_policies, FLAGS_namespaces,
                Seconds(cluster_.clock().Now() - start));
    Result<> ready = AwaitReady("", FLAGS_policies);
    if (!ready) return ready;
    WebhookCost cost = CostOfWebhook();
    std::printf(", all Ready after %.1f s; policy webhook: %.1f MiB RSS, %.1f MiB of its own\n",
                Seconds(cluster_.clock().Now() - start),
                static_cast<double>(cost.largest_rss_kb) / 1024,
                static_cast<double>(cost.largest_own_kb) / 1024);
    return Ok();
  }

  // Waits for the policies of `ns`, or of all namespaces.
  Result<> AwaitReady(const std::string& ns, int count) {
    for (auto deadline = cluster_.clock().Now() + std::chrono::seconds(FLAGS_timeout);;) {
      auto listed = cluster_.Run(kube::ListObjects(
          cluster_.client(), policy::kPodSchedulingPolicies, kube::ListOptions{.ns = ns}));
      if (!listed) return listed.error();
      auto ready = std::count_if(listed->items.begin(), listed->items.end(), IsReady);
      if (ready == count) return Ok();
      if (cluster_.clock().Now() > deadline)
        return Error::DeadlineExceeded(std::to_string(ready) + " policies are Ready");
      cluster_.Pause(500ms);
    }
  }

  Result<> WithPolicy(const char* title, Json labels) {
    kube::Unstructured policy(Policy(kPlain, "own", std::move(labels)));
    auto created =
        cluster_.Run(kube::CreateObject(cluster_.client(), policy::kPodSchedulingPolicies, policy));
    if (!created) return created.error().Prefix(title);
    Result<> ready = AwaitReady(kPlain, 1);
    if (!ready) return ready.error().Prefix(title);
    Result<> measured = Measure(title);
    if (!measured) return measured;
    auto deleted = cluster_.Run(
        kube::DeleteObject(cluster_.client(), policy::kPodSchedulingPolicies, {kPlain, "own"}));
    return deleted ? AwaitReady(kPlain, 0) : deleted.error();
  }

  // Not reported without a title: connections and the API server's heap grow to their usual size.
  Result<> Measure(const char* title) {
    LoadOptions load = harness_.Load(kPlain);
    load.await_ungated = false;
    WebhookCost before = CostOfWebhook();
    Result<LoadResult> result = harness_.Run(load);
    if (!result) return result.error();
    WebhookCost after = CostOfWebhook();
    if (title != nullptr) {
      double rate = FLAGS_pods / Seconds(result->created);
      double cpu = std::chrono::duration<double, std::milli>(after.cpu - before.cpu).count();
      std::printf("%-40s  %5.0f pods/s   policy webhook: %.3f ms CPU a pod, %.1f MiB RSS\n", title,
                  rate, cpu / FLAGS_pods, static_cast<double>(after.largest_rss_kb) / 1024);
    }
    return harness_.DeletePods({kPlain});
  }

  WebhookCost CostOfWebhook() {
    WebhookCost sum;
    for (e2e::PodProcess* process :
         cluster_.kubelet().OfProgram("webhook", cluster_.operator_namespace())) {
      if (!process->name().starts_with(policy::kWebhookName)) continue;
      auto pid = process->pid();
      if (!pid) continue;
      Result<e2e::ProcessCost> cost = e2e::CostOf(*pid);
      if (!cost) continue;
      sum.cpu += cost->cpu;
      sum.largest_rss_kb = std::max(sum.largest_rss_kb, cost->rss_kb);
      sum.largest_own_kb = std::max(sum.largest_own_kb, cost->own_rss_kb);
    }
    return sum;
  }

  PodsHarness& harness_;
  e2e::ProcessCluster& cluster_;
};

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
  PodsHarness harness(**cluster, std::move(*client),
                      {.pods = FLAGS_pods,
                       .connections = FLAGS_connections,
                       .timeout = std::chrono::seconds(FLAGS_timeout)});
  return Benchmark(harness).Run();
}

}  // namespace
}  // namespace benchmarks

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  if (benchmarks::ServedAsRegistry()) return 0;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  kube::Result<> done = benchmarks::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
