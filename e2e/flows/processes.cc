// SPDX-License-Identifier: Apache-2.0
// What can only be seen where our programs are processes of this machine: memory, exit codes, a
// frozen registry, an API server that goes away. Integration tier only.
#include <csignal>
#include <iomanip>
#include <iostream>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/flows/process_conditions.h"
#include "e2e/framework/flow_test.h"
#include "kube/http/pool.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Ok;
using kube::Result;

class ProcessFlow : public FlowTest {
 protected:
  ProcessKubelet& kubelet() { return TheProcessCluster().kubelet(); }

  // All our processes of the scene and of the operator's namespace.
  std::vector<PodProcess*> Processes(const std::string& ns) {
    std::vector<PodProcess*> all;
    for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
      for (PodProcess* process : kubelet().OfProgram(program, ns)) all.push_back(process);
    }
    return all;
  }

  // By pod, of the scene and of the operator's namespace.
  std::map<std::string, int> Restarts() {
    std::map<std::string, int> restarts;
    for (const std::string& ns : {scene().ns(), cluster().operator_namespace()}) {
      for (PodProcess* process : Processes(ns)) restarts[process->name()] = process->restarts();
    }
    return restarts;
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

// The budget of the design: idle at most 10 MB resident a process, shared pages included, and shard
// and webhook of a namespace together at most 20 MB. A sanitizer's build has other needs.
TEST_F(ProcessFlow, IdleMemoryIsWithinItsBudget) {
#ifdef BUILT_WITH_SANITIZER
  GTEST_SKIP() << "built with a sanitizer";
#endif
  constexpr long kProcessBudget = 10 * 1024;
  constexpr long kNamespaceBudget = 20 * 1024;
  Flow flow(scene(), "idle memory");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
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

// SIGTERM, as from a kubelet, ends each program with 0 and soon.
TEST_F(ProcessFlow, SigtermEndsThemWell) {
  Flow flow(scene(), "shards come and go");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  size_t before = kubelet().stops().size();
  flow.Do(Delete(kConfigs, "only")).Await(ShardGone());
  ASSERT_GE(kubelet().stops().size(), before + 2) << "shard and webhook were not stopped";
  for (size_t i = before; i < kubelet().stops().size(); ++i) {
    EXPECT_EQ(kubelet().stops()[i].second, 0) << kubelet().stops()[i].first;
  }
}

// I3: a dead shard is taken over, the config's status says what is wrong with it, and a shard that
// is back goes on.
TEST_F(ProcessFlow, ADeadShardIsTakenOver) {
  auto used = UseClusterConfig(UsualClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
  ASSERT_TRUE(used) << used.error();
  const std::string shard_pods = std::string(api::kOperandLabel) + "=shard";
  Flow flow(scene(), "a dead shard is taken over");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 77))).Await(ShardReady());
  kubelet().HoldImage("shard", scene().ns(), true);
  flow.Do(DeletePods(shard_pods))
      .Await(NoProcessOf("shard"))
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(5)))
      .Await(AllUngated(5))
      .Await(Says(kConfigs, "only", "Degraded", "True", "ImagePull"))
      .Never(GateAndItsWorkGoApart())
      .Never(ClusterGateGoesBeforeLocal());
  for (const PodHistory* pod : scene().pods().All()) {
    if (IsOperand(pod->last())) continue;
    EXPECT_TRUE(HasGate(pod->events.front().pod, api::kLocalGate)) << pod->name;
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"arm64", 77}}))
        << scene().Describe(pod->name);
    flow.Await(EventAbout(pod->name, std::string(api::kReasonShardTakeover)));
  }
  kubelet().HoldImage("shard", scene().ns(), false);
  flow.Await(ShardReady())
      .Do(Create(MakePod("later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 77}}));
}

// I3: who may write Leases in a namespace keeps no pod of a dead shard gated. Within the longest
// wait for any shard, so it is the Deployment that says so.
TEST_F(ProcessFlow, ALeaseThatATenantRenewsHoldsNoPod) {
  auto used = UseClusterConfig(UsualClusterConfig().Set("/spec/shardTakeoverAfter", "10s"));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "a Lease that a tenant renews");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 77))).Await(ShardReady());
  kubelet().HoldImage("shard", scene().ns(), true);
  flow.Do(DeletePods(std::string(api::kOperandLabel) + "=shard"))
      .Await(NoProcessOf("shard"))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))));
  Condition ungated = Ungated("web");
  auto renewals = std::make_shared<int>(0);
  flow.Await({"ungated while the Lease is renewed",
              [ungated, renewals](Scene& scene) -> Result<> {
                Json spec = {{"holderIdentity", "tenant-" + std::to_string((*renewals)++)}};
                auto renewed =
                    scene.Patch(kLeases, std::string(api::kShardControllerName), {{"spec", spec}});
                if (!renewed) return renewed.error();
                return ungated.holds(scene);
              },
              "web"},
             20s)
      .Await(Prefers("web", {{"arm64", 77}}))
      .Await(EventAbout("web", std::string(api::kReasonShardTakeover)));
  EXPECT_GT(*renewals, 2);
  kubelet().HoldImage("shard", scene().ns(), false);
}

// A registry that hangs holds up only the pods that need it, and none for ever.
TEST_F(ProcessFlow, AFrozenRegistryHoldsNoPodForEver) {
  TestRegistry& registry = TheProcessCluster().test_registry();
  registry.Freeze();
  Flow(scene(), "a frozen registry")
      // Another tag than any other test's, so that no cache knows it.
      .Do(Create(MakePod("stuck").Image(Image("demo/multi:frozen"))))
      .Await(EventAbout("stuck", std::string(api::kReasonInspectionError)), 240s);
  registry.Thaw();
  Flow(scene(), "the registry is back")
      .Await(Ungated("stuck"), 240s)
      .Never(GateAndItsWorkGoApart());
}

// Watches resume, nobody exits, no pod is lost.
TEST_F(ProcessFlow, TheApiServerMayGoAway) {
  Flow flow(scene(), "the API server goes away");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  std::map<std::string, int> restarts = Restarts();

  ControlPlane& plane = TheProcessCluster().control_plane();
  ASSERT_TRUE(plane.KillApiServer());
  cluster().Pause(3s);
  ASSERT_TRUE(plane.StartApiServer());
  auto back = TheProcessCluster().AwaitApiServer();
  ASSERT_TRUE(back) << back.error();

  // Once the watch has a new pod, what it lost in the outage is behind it.
  flow.Do(Create(MakePod("first").Image(Image("demo/multi:1")))).Await(Ungated("first"));
  int gaps = scene().pods().gaps();
  flow.Do(Create(MakeDeployment("after", MakePod("").Image(Image("demo/multi:1"))).Replicas(10)))
      .Await(AllUngated(11));
  EXPECT_EQ(scene().pods().gaps(), gaps);
  for (const PodHistory* pod : scene().pods().All()) {
    if (IsOperand(pod->last())) continue;
    for (const PodRule& rule : {ClusterGateGoesBeforeLocal(), GateAndItsWorkGoApart()}) {
      Result<> kept = rule.kept(*pod);
      EXPECT_TRUE(kept) << rule.name << ": " << pod->name << ": " << kept.error();
    }
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"arm64", 10}}))
        << scene().Describe(pod->name);
  }
  ExpectNoRestartSince(restarts);
}

// An API server that hangs, for longer than a Lease can be held and any call may take, while pods,
// configs and admission are being worked on: every program lives through it, and every pod is
// placed.
TEST_F(ProcessFlow, TheApiServerMayHang) {
  constexpr size_t kPods = 400;
  Flow flow(scene(), "the API server hangs");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  std::map<std::string, int> restarts = Restarts();
  flow.Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(kPods)))
      .Await(UngatedSoFar(20))
      // The operator has something to do as well.
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
      .Never(GateAndItsWorkGoApart())
      .Never(ClusterGateGoesBeforeLocal());
  ExpectNoRestartSince(restarts);
  for (const PodHistory* pod : scene().pods().All()) {
    if (IsOperand(pod->last()) || !HasGate(pod->events.front().pod, api::kLocalGate)) continue;
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"arm64", 10}}))
        << scene().Describe(pod->name);
  }
  // Everything leads, watches and answers as before.
  flow.Do(Create(MakeConfig("third").Priority(9).ForLabel("app", "later").Prefer("s390x", 3)))
      .Await(ShardReady())
      .Do(Create(MakePod("later").Label("app", "later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 10}, {"s390x", 3}}));
  ExpectNoRestartSince(restarts);
}

// Whoever may write Leases in the namespace cannot keep its pods waiting: neither by a holder that
// does not exist nor by a deletion.
TEST_F(ProcessFlow, ATenantsWriteOfTheLeaseHoldsNoPod) {
  auto used = UseClusterConfig(UsualClusterConfig().Set("/spec/shardTakeoverAfter", "10m"));
  ASSERT_TRUE(used) << used.error();
  const std::string lease(api::kShardControllerName);
  Flow flow(scene(), "a tenant writes to the shard's Lease");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
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

// What somebody changes by hand is put right: at once, and also what was changed while no operator
// ran.
TEST_F(ProcessFlow, WhatIsChangedByHandIsPutRight) {
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
  auto no_operator =
      Condition{.name = "no operator runs", .holds = [this, ops](Scene&) -> Result<> {
                  if (kubelet().OfProgram("operator", ops).empty()) return Ok();
                  return kube::Error::AlreadyExists("one runs");
                }};
  Flow flow(scene(), "operands are changed by hand");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Change(kRoles, shard, {{"rules", Json::array()}}))
      .Await(has_rules)
      .Do(Change(kDeployments, shard,
                 {{"metadata", {{"labels", {{"app.kubernetes.io/managed-by", "me"}}}}}}))
      .Await(is_managed);
  if (flow.failed()) return;

  kubelet().HoldImage("operator", ops, true);
  kube::ListOptions pods_of_operator{
      .ns = ops, .label_selector = std::string(api::kOperandLabel) + "=operator"};
  auto pods = cluster().Run(kube::ListObjects(cluster().client(), kPods, pods_of_operator));
  ASSERT_TRUE(pods) << pods.error();
  ASSERT_FALSE(pods->items.empty());
  for (const auto& pod : pods->items) {
    auto deleted = cluster().Run(kube::DeleteObject(cluster().client(), kPods, kube::KeyOf(pod)));
    ASSERT_TRUE(deleted) << deleted.error();
  }
  flow.Await(no_operator)
      .Do(Change(kRoles, shard, {{"rules", Json::array()}}))
      .Do(Change(kDeployments, shard, {{"spec", {{"replicas", 0}}}}))
      .Await(NoProcessOf("shard"));
  kubelet().HoldImage("operator", ops, false);
  flow.Await(has_rules)
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
}

// What comes to a webhook's port that is no AdmissionReview is answered, never believed, and hurts
// nobody.
TEST_F(ProcessFlow, AWebhookOutlivesMalformedReviews) {
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
    // A body that is too large may be cut off before it was all sent.
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
