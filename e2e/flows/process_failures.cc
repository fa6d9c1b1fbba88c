// SPDX-License-Identifier: Apache-2.0
// Flows that need the programs as processes of this machine: memory, exit codes, a dead shard, a
// frozen registry, an API server that is down or hangs, malformed requests.
#include <csignal>
#include <iomanip>
#include <iostream>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/http/pool.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

// At least `count` pods of the scene are ungated.
Condition UngatedSoFar(size_t count) {
  return {.name = std::to_string(count) + " pods are ungated",
          .holds = [count](Scene& scene) -> Result<> {
            size_t ungated = 0;
            for (const PodHistory* pod : scene.pods().All())
              ungated += !IsOperand(pod->last()) && !IsGated(pod->last());
            if (ungated >= count) return Ok();
            return Error::NotFound(std::to_string(ungated) + " pods are");
          }};
}

class ProcessFailuresFlow : public FlowFixture {
 protected:
  ProcessKubelet& kubelet() { return TheProcessCluster().kubelet(); }
  std::vector<ProgramIn> Shard() { return {{"shard", scene().ns()}}; }

  // All processes of the scene and of the operator's namespace.
  std::vector<PodProcess*> Processes(const std::string& ns) {
    std::vector<PodProcess*> all;
    for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
      for (PodProcess* process : kubelet().OfProgram(program, ns)) all.push_back(process);
    }
    return all;
  }

  // Restarts by pod, in the scene's and the operator's namespace.
  std::map<std::string, int> Restarts() {
    std::map<std::string, int> restarts;
    for (const std::string& ns : {scene().ns(), cluster().operator_namespace()}) {
      for (PodProcess* process : Processes(ns)) restarts[process->name()] = process->restarts();
    }
    return restarts;
  }
  void CrashAll() {
    for (const std::string& ns : {scene().ns(), cluster().operator_namespace()}) {
      for (PodProcess* process : Processes(ns)) process->Crash();
    }
  }
  // All pods have been restarted since `before`, and are ready.
  Condition AllReadyAfterRestart(std::map<std::string, int> before) {
    return {.name = "all processes run again",
            .holds = [this, before = std::move(before)](Scene&) -> Result<> {
              for (const std::string& ns : {scene().ns(), cluster().operator_namespace()}) {
                for (PodProcess* process : Processes(ns)) {
                  auto known = before.find(process->name());
                  bool restarted = known == before.end() || process->restarts() > known->second;
                  if (!restarted || !process->ready())
                    return Error::NotFound(process->name() + " is not ready");
                }
              }
              return Ok();
            }};
  }
  void ExpectNoRestartSince(const std::map<std::string, int>& before) {
    for (const std::string& ns : {scene().ns(), cluster().operator_namespace()}) {
      for (PodProcess* process : Processes(ns)) {
        auto known = before.find(process->name());
        EXPECT_EQ(process->restarts(), known == before.end() ? 0 : known->second)
            << process->name() << "\n"
            << process->LogTail();
      }
    }
  }
};

// The budget: at most 10 MB resident for an idle process, shared pages included, and at most 20 MB
// for shard and webhook of a namespace together.
TEST_F(ProcessFailuresFlow, IdleMemoryIsWithinItsBudget) {
#ifdef BUILT_WITH_SANITIZER
  GTEST_SKIP() << "a sanitizer build needs more memory";
#endif
  constexpr long kProcessBudget = 10 * 1024;
  constexpr long kNamespaceBudget = 20 * 1024;
  // What other flows leave is work for a new process.
  Result<> settled = TheProcessCluster().AwaitNoDeletedNamespace();
  ASSERT_TRUE(settled) << settled.error();
  Flow flow(scene(), "idle memory");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  // New processes: those of earlier flows keep memory of large inputs for a while.
  const std::map<std::string, int> before = Restarts();
  CrashAll();
  flow.Await(AllReadyAfterRestart(before));
  if (flow.failed()) return;
  cluster().Pause(1s);

  long of_namespace = 0;
  for (const std::string& ns : {scene().ns(), cluster().operator_namespace()}) {
    for (PodProcess* process : Processes(ns)) {
      auto pid = process->pid();
      ASSERT_TRUE(pid) << pid.error();
      auto cost = CostOf(*pid);
      ASSERT_TRUE(cost) << cost.error();
      std::cout << std::left << std::setw(20) << process->program_name() << " " << cost->rss_kb
                << " kB, of its own " << cost->own_rss_kb << " kB (" << process->name() << ")"
                << std::endl;
      EXPECT_GT(cost->rss_kb, 0) << process->name();
      EXPECT_LE(cost->rss_kb, kProcessBudget) << process->name();
      if (ns == scene().ns()) of_namespace += cost->rss_kb;
    }
  }
  EXPECT_GT(of_namespace, 0);
  EXPECT_LE(of_namespace, kNamespaceBudget);
}

// After SIGTERM each program exits with 0 within its grace period.
TEST_F(ProcessFailuresFlow, SigtermEndsEachProgramWithZero) {
  Flow flow(scene(), "a shard is deployed and removed");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  size_t before = kubelet().stops().size();
  flow.Do(Delete(kConfigs, "only")).Await(ShardRemoved());
  ASSERT_GE(kubelet().stops().size(), before + 2) << "shard and webhook were not stopped";
  for (size_t i = before; i < kubelet().stops().size(); ++i) {
    EXPECT_EQ(kubelet().stops()[i].second, 0) << kubelet().stops()[i].first;
  }
}

// I3: the cluster controller takes over from a dead shard, the config's status has the reason, and
// a restarted shard continues.
TEST_F(ProcessFailuresFlow, ADeadShardIsTakenOver) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "a dead shard is taken over");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 77))).Await(ShardReady());
  flow.Do(StopPrograms(Shard()))
      .Await(NoProcessOf(Shard()))
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(5)))
      .Await(AllUngated(5))
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", "ImagePull"))
      .Never(GateRemovedWithoutItsDecision())
      .Never(ClusterGateRemovedBeforeLocal());
  for (const PodHistory* pod : scene().pods().All()) {
    if (IsOperand(pod->last())) continue;
    EXPECT_TRUE(HasGate(pod->events.front().pod, api::kLocalGate)) << pod->name;
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"arm64", 77}}))
        << scene().Describe(pod->name);
    flow.Await(EventAbout(pod->name, std::string(api::kReasonShardTakeover)));
  }
  StartPrograms(Shard());
  flow.Await(ShardReady())
      .Do(Create(MakePod("later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 77}}));
}

// I3: a tenant who renews the Lease of a dead shard cannot keep its pods gated. The takeover
// happens before the longest wait for any shard, because of the Deployment's status.
TEST_F(ProcessFailuresFlow, ALeaseRenewedByATenantKeepsNoPodGated) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "10s"));
  ASSERT_TRUE(used) << used.error();
  const std::string lease(api::kShardControllerName);
  Flow flow(scene(), "a Lease that a tenant renews");
  // The shard creates it after it is ready.
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 77)))
      .Await(ShardReady())
      .Await(Exists(kLeases, lease));
  flow.Do(StopPrograms(Shard()))
      .Await(NoProcessOf(Shard()))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))));
  Condition ungated = Ungated("web");
  auto renewals = std::make_shared<int>(0);
  flow.Await({"ungated while the Lease is renewed",
              [ungated, renewals, lease](Scene& scene) -> Result<> {
                Json spec = {{"holderIdentity", "tenant-" + std::to_string((*renewals)++)}};
                auto renewed = scene.Patch(kLeases, lease, {{"spec", spec}});
                if (!renewed) return renewed.error();
                return ungated.holds(scene);
              },
              "web"},
             20s)
      .Await(Prefers("web", {{"arm64", 77}}))
      .Await(EventAbout("web", std::string(api::kReasonShardTakeover)));
  EXPECT_GT(*renewals, 2);
  StartPrograms(Shard());
}

// A registry that hangs delays only the pods that need it, and only until inspection gives up.
TEST_F(ProcessFailuresFlow, AFrozenRegistryKeepsNoPodGated) {
  TestRegistry& registry = TheProcessCluster().test_registry();
  registry.Freeze();
  Flow(scene(), "a frozen registry")
      // A tag that no other test uses, so it is in no cache.
      .Do(Create(MakePod("stuck").Image(Image("demo/multi:frozen"))))
      .Await(EventAbout("stuck", std::string(api::kReasonInspectionError)), 240s);
  registry.Thaw();
  Flow(scene(), "the registry is back")
      .Await(Ungated("stuck"), 240s)
      .Never(GateRemovedWithoutItsDecision());
}

// Watches resume, no program exits, no pod stays gated.
TEST_F(ProcessFailuresFlow, TheApiServerMayBeDown) {
  Flow flow(scene(), "the API server is down");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  std::map<std::string, int> restarts = Restarts();

  ControlPlane& plane = TheProcessCluster().control_plane();
  Result<> killed = TheProcessCluster().KillApiServer();
  ASSERT_TRUE(killed) << killed.error();
  cluster().Pause(3s);
  ASSERT_TRUE(plane.StartApiServer());
  auto back = TheProcessCluster().AwaitApiServer();
  ASSERT_TRUE(back) << back.error();

  // After the watch has seen a new pod it has also seen the events of the outage.
  flow.Do(Create(MakePod("first").Image(Image("demo/multi:1")))).Await(Ungated("first"));
  int gaps = scene().pods().gaps();
  flow.Do(Create(MakeDeployment("after", MakePod("").Image(Image("demo/multi:1"))).Replicas(10)))
      .Await(AllUngated(11));
  EXPECT_EQ(scene().pods().gaps(), gaps);
  for (const PodHistory* pod : scene().pods().All()) {
    if (IsOperand(pod->last())) continue;
    for (const PodRule& rule : {ClusterGateRemovedBeforeLocal(), GateRemovedWithoutItsDecision()}) {
      Result<> kept = rule.kept(*pod);
      EXPECT_TRUE(kept) << rule.name << ": " << pod->name << ": " << kept.error();
    }
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"arm64", 10}}))
        << scene().Describe(pod->name);
  }
  ExpectNoRestartSince(restarts);
}

// The API server hangs for longer than a Lease lasts and any call may take, while pods are placed,
// configs reconciled and reviews answered: no program exits, and every pod is placed.
TEST_F(ProcessFailuresFlow, TheApiServerMayHang) {
  constexpr size_t kPods = 400;
  Flow flow(scene(), "the API server hangs");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  std::map<std::string, int> restarts = Restarts();
  Result<> settled = TheProcessCluster().AwaitNoDeletedNamespace();
  ASSERT_TRUE(settled) << settled.error();
  flow.Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(kPods)))
      .Await(UngatedSoFar(20))
      // Work for the operator.
      .Do(Create(MakeConfig("other").Priority(7).ForLabel("no", "pod").Prefer("amd64", 1)));
  if (flow.failed()) return;

  ControlPlane& plane = TheProcessCluster().control_plane();
  ASSERT_TRUE(plane.FreezeApiServer());
  cluster().Pause(48s);
  ASSERT_TRUE(plane.ThawApiServer());
  EXPECT_FALSE(UngatedSoFar(kPods).holds(scene()))
      << "all pods were placed before the API server hung";
  auto back = TheProcessCluster().AwaitApiServer();
  ASSERT_TRUE(back) << back.error();

  flow.Await(AllUngated(kPods), 180s)
      .Never(GateRemovedWithoutItsDecision())
      .Never(ClusterGateRemovedBeforeLocal());
  ExpectNoRestartSince(restarts);
  for (const PodHistory* pod : scene().pods().All()) {
    // The ReplicaSet creates pods again whose creation got no answer, and deletes the surplus.
    if (pod->deleted()) continue;
    if (IsOperand(pod->last()) || !HasGate(pod->events.front().pod, api::kLocalGate)) continue;
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"arm64", 10}}))
        << scene().Describe(pod->name);
  }
  // Leases, watches and webhooks work as before.
  flow.Do(Create(MakeConfig("third").Priority(9).ForLabel("app", "later").Prefer("s390x", 3)))
      .Await(ShardReady())
      .Do(Create(MakePod("later").Label("app", "later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 10}, {"s390x", 3}}));
  ExpectNoRestartSince(restarts);
}

// A tenant who writes the shard's Lease cannot keep pods gated: neither with a holder that does not
// exist nor by deleting the Lease.
TEST_F(ProcessFailuresFlow, ALeaseWrittenByATenantKeepsNoPodGated) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "10m"));
  ASSERT_TRUE(used) << used.error();
  const std::string lease(api::kShardControllerName);
  Flow flow(scene(), "a tenant writes to the shard's Lease");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Await(Exists(kLeases, lease))
      .Do(Change(
          kLeases, lease,
          {{"spec", {{"holderIdentity", "nobody"}, {"leaseDurationSeconds", 1'000'000'000}}}}))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Do(Delete(kLeases, lease))
      .Do(Create(MakePod("later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 10}}))
      .Await(Exists(kLeases, lease));
}

// Manual changes of operands are reverted: at once, or when the operator starts again.
TEST_F(ProcessFailuresFlow, ManualChangesAreReverted) {
  const std::string ops = cluster().operator_namespace();
  const std::string shard(api::kShardControllerName);
  auto has_rules = Condition{.name = "the shard's Role has its rules",
                             .holds = [shard](Scene& scene) -> Result<> {
                               auto role = scene.Get(kRoles, shard);
                               if (!role) return role.error();
                               if (!(*role)["rules"].empty()) return Ok();
                               return kube::Error::NotFound("it has none");
                             }};
  auto is_managed = Condition{.name = "the shard's Deployment is the operator's",
                              .holds = [shard](Scene& scene) -> Result<> {
                                auto deployment = scene.Get(kDeployments, shard);
                                if (!deployment) return deployment.error();
                                std::string manager =
                                    LabelOf(*deployment, "app.kubernetes.io/managed-by");
                                if (manager == "multiarch-tuning-operator") return Ok();
                                return kube::Error::NotFound("its manager is " + manager);
                              }};
  const std::vector<ProgramIn> the_operator = {{"operator", ops}};
  Flow flow(scene(), "manual changes of operands");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Change(kRoles, shard, {{"rules", Json::array()}}))
      .Await(has_rules)
      .Do(Change(kDeployments, shard,
                 {{"metadata", {{"labels", {{"app.kubernetes.io/managed-by", "me"}}}}}}))
      .Await(is_managed);
  if (flow.failed()) return;

  flow.Do(StopPrograms(the_operator))
      .Await(NoProcessOf(the_operator))
      .Do(Change(kRoles, shard, {{"rules", Json::array()}}))
      .Do(Change(kDeployments, shard, {{"spec", {{"replicas", 0}}}}))
      .Await(NoProcessOf(Shard()));
  StartPrograms(the_operator);
  flow.Await(has_rules)
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
}

// A request that is not an AdmissionReview gets an error response and does not end the webhook.
TEST_F(ProcessFailuresFlow, AWebhookSurvivesMalformedReviews) {
  Flow flow(scene(), "a webhook");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  auto configuration =
      scene().Get(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(scene().ns()));
  ASSERT_TRUE(configuration) << configuration.error();
  std::string path =
      kube::StringAt((*configuration)["webhooks"][0], "clientConfig.service.path", "/");
  std::vector<PodProcess*> webhooks = kubelet().OfProgram("webhook", scene().ns());
  ASSERT_FALSE(webhooks.empty());

  kube::Origin origin{
      .scheme = "https", .host = webhooks[0]->ip(), .port = "9443", .tls = {.insecure = true}};
  auto pool = kube::HttpPool::New(cluster().io().get_executor(), cluster().clock(), origin, {});
  std::string deep(100'000, '[');
  std::string huge = "{\"request\":\"" + std::string(8 * 1024 * 1024, 'x') + "\"}";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("null"), std::string("[]"),
        std::string("{\"request\":7}"),
        std::string("{\"request\":{\"uid\":\"u\",\"object\":{\"spec\":\"pod\"}}}"),
        std::string("{\"request\":{\"uid\":7,\"object\":null}}"), std::string("\xff\xfe{}"), deep,
        huge}) {
    kube::HttpRequest request{.method = "POST",
                              .target = path,
                              .headers = {{"Content-Type", "application/json"}},
                              .body = body,
                              .timeout = 5s};
    auto answer = cluster().Run(pool->Call(request));
    // The connection may be closed before a body that is too large was sent.
    if (!answer) {
      EXPECT_GT(body.size(), 1024u * 1024) << answer.error();
      continue;
    }
    EXPECT_TRUE(answer->status == 200 || (answer->status >= 400 && answer->status < 500))
        << answer->status << " for " << body.substr(0, 80) << "\n"
        << answer->body;
    EXPECT_EQ(answer->body.find("\"patch\""), std::string::npos) << answer->body;
  }
  EXPECT_EQ(webhooks[0]->restarts(), 0) << webhooks[0]->LogTail();
  flow.Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
  if (flow.failed()) return;
  EXPECT_TRUE(HasGate(scene().pods().Find("web")->events.front().pod, api::kLocalGate));
}

}  // namespace
}  // namespace e2e
