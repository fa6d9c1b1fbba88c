// SPDX-License-Identifier: Apache-2.0
#include "operator/shard_reconciler.h"

#include <gtest/gtest.h>

#include <sstream>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/log_verbosity.h"
#include "kube/testing/make_pod.h"
#include "operator/testing/harness.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using kube::MakePod;
using kube::core::Pod;
using namespace std::chrono_literals;

const kube::ObjectKey kController{"shop", std::string(api::kShardControllerName)};
const kube::ObjectKey kWebhook{"shop", std::string(api::kShardWebhookName)};

class ShardReconcilerTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }
  // The paths of the entries of the namespace's webhook configuration, without the probe's.
  std::string Entries() {
    std::optional<Json> configuration = h_.WebhookConfiguration("shop");
    if (!configuration) return "none";
    std::string names;
    for (const Json& webhook : (*configuration)["webhooks"]) {
      std::string path = kube::StringAt(webhook, "clientConfig.service.path");
      if (path != "/probe") names += (names.empty() ? "" : " ") + path;
    }
    return names;
  }
  // A pod of the shard's controller.
  static Json PodWithoutImage() {
    return *kube::ParseJson(
        R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop",
        "labels": {"app.kubernetes.io/managed-by": "multiarch-tuning-operator",
                   "app.kubernetes.io/name": "pod-placement-shard-controller"}},
        "status": {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
        })");
  }
  // The same, which runs.
  static Pod RunningPod() {
    return MakePod("p")
        .Namespace("shop")
        .Phase("Running")
        .Label("app.kubernetes.io/managed-by", "multiarch-tuning-operator")
        .Label("app.kubernetes.io/name", api::kShardControllerName);
  }
  bool IsGated(const kube::ObjectKey& pod) {
    return placement::HasGate(*h_.api.Get<Pod>(pod), api::kLocalGate);
  }

  Harness h_;
};

TEST_F(ShardReconcilerTest, TheFirstConfigBringsUpTheShard) {
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.Pass(5s);
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
  EXPECT_TRUE(h_.Exists(kube::kServices, kWebhook));
  EXPECT_TRUE(h_.Exists(kube::kRoles, kController));
  EXPECT_TRUE(h_.Exists(kube::kRoleBindings, kController));
  EXPECT_TRUE(h_.Exists(kube::kServiceAccounts, kWebhook));
  EXPECT_TRUE(h_.SecretExists(kWebhook));
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "False ControllerNotAvailable");

  // No pod is gated for a shard that never came up.
  EXPECT_EQ(Entries(), "none");
  h_.RollOutShard("shop");
  ASSERT_TRUE(h_.Await([&] { return Entries() == "/local/a"; }));
  ASSERT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Available") == "True AsExpected"; }));
  EXPECT_EQ(h_.Condition("shop", "a", "Progressing"), "False AsExpected");
}

TEST_F(ShardReconcilerTest, LogLinesNameObjectAndReconcile) {
  testing::internal::CaptureStderr();
  kube::SetLogVerbosity("Debug");
  EXPECT_TRUE(h_.BringUp("shop"));
  h_.DeleteConfig("shop", "a");
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  kube::SetLogVerbosity("Normal");
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::string all;
  for (std::string line; std::getline(lines, line); all += line + "\n") {
    if (line.find("shop") == std::string::npos) continue;
    EXPECT_NE(line.find("] controller=shards object=shop reconcile="), std::string::npos) << line;
  }
  for (const char* text : {"applied Deployment shop/", "authority=ops/", "certificate=shop/",
                           "teardown begins", "deleted Deployment shop/", "teardown is complete"}) {
    EXPECT_NE(all.find(text), std::string::npos) << text << "\n" << all;
  }
}

TEST_F(ShardReconcilerTest, EachConfigHasAnEntry) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.CreateConfig("shop", "b", 9);
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/b /local/a"; })) << Entries();
  h_.DeleteConfig("shop", "a");
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/b"; })) << Entries();
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
}

TEST_F(ShardReconcilerTest, TheTeardownHasAnOrderThatLeavesNoGatedPod) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return Entries() == "none"; }));
  h_.Pass(4s);
  // A shard that runs is left to drain its pods.
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
  EXPECT_TRUE(IsGated({"shop", "web"}));

  h_.api.Update<Pod>(MakePod("web").Namespace("shop").Phase("Pending"));
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_LT(h_.CallIndex("DELETE /apis/admissionregistration.k8s.io"),
            h_.CallIndex("DELETE /apis/apps/v1"));
  EXPECT_LT(h_.CallIndex("DELETE /apis/apps/v1"),
            h_.CallIndex("DELETE /api/v1/namespaces/ops/secrets"));
  // The Lease, which the shard created, after the Role with which it could create it again.
  EXPECT_LT(h_.CallIndex("DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles"),
            h_.CallIndex("DELETE /apis/coordination.k8s.io/v1/namespaces/shop/leases"));
  EXPECT_LT(h_.CallIndex("DELETE /apis/coordination.k8s.io/v1/namespaces/shop/leases"),
            h_.CallIndex("DELETE /api/v1/namespaces/ops/secrets"));
}

TEST_F(ShardReconcilerTest, PodsAreUngatedAtOnceIfTheShardIsDown) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.RollOut("shop", api::kShardControllerName, /*runs=*/false);
  h_.Pass(1s);
  h_.api.Create<Pod>(MakePod("web")
                         .Namespace("shop")
                         .Phase("Pending")
                         .Gate(api::kClusterGate)
                         .Gate(api::kLocalGate));
  h_.DeleteConfig("shop", "a");
  h_.Pass(2s);
  EXPECT_FALSE(IsGated({"shop", "web"}));
  EXPECT_TRUE(placement::HasGate(*h_.api.Get<Pod>({"shop", "web"}), api::kClusterGate));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

TEST_F(ShardReconcilerTest, PodsThatTheShardDoesNotDrainAreUngated) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  h_.DeleteConfig("shop", "a");
  EXPECT_TRUE(h_.Await([&] { return !IsGated({"shop", "web"}); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

TEST_F(ShardReconcilerTest, TheTeardownWaitsForAPodThatIsGatedLate) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return Entries() == "none"; }));
  h_.Pass(1s);
  h_.api.Create<Pod>(MakePod("late").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  h_.Pass(3s);
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
  EXPECT_TRUE(h_.Await([&] { return !IsGated({"shop", "late"}); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

// A list that was read before an API server stopped gating proves nothing, however late it is used.
TEST_F(ShardReconcilerTest, AListThatBeganTooEarlyDoesNotEndTheTeardown) {
  ASSERT_TRUE(h_.BringUp("shop"));
  for (int i = 0; i < 300; ++i) {
    h_.api.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Namespace("shop").Phase("Pending"));
  }
  // The first page is read at once; the second takes longer than an API server gates pods.
  bool slow = false;
  h_.api.BeforeEach([&](const std::string& call) {
    if (slow || !call.starts_with("GET /api/v1/namespaces/shop/pods") ||
        call.find("continue=") == std::string::npos)
      return;
    slow = true;
    h_.api.Create<Pod>(MakePod("late").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
    h_.clock.Advance(3s);
  });
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return slow; }));
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_FALSE(IsGated({"shop", "late"}));
}

// The pages after the one that expired may have gated pods.
TEST_F(ShardReconcilerTest, AListThatExpiresDoesNotEndTheTeardown) {
  ASSERT_TRUE(h_.BringUp("shop"));
  for (int i = 0; i < 300; ++i) {
    h_.api.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Namespace("shop").Phase("Pending"));
  }
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  bool expire = true;
  int expired = 0;
  h_.api.BeforeEach([&](const std::string& call) {
    if (!expire || !call.starts_with("GET /api/v1/namespaces/shop/pods") ||
        call.find("continue=") == std::string::npos)
      return;
    ++expired;
    h_.api.FailNext(Error::FromHttpStatus(410, "Expired", "too old"), "continue=");
  });
  h_.DeleteConfig("shop", "a");
  h_.Pass(20s);
  EXPECT_GT(expired, 3);
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
  expire = false;
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_FALSE(IsGated({"shop", "web"}));
}

// As a policy engine does. The cluster controller releases the pod later.
TEST_F(ShardReconcilerTest, APodWhoseWriteIsRefusedDelaysTheTeardownForABoundedTime) {
  ASSERT_TRUE(h_.BringUp("shop"));
  for (const char* name : {"a", "b"}) {
    h_.api.Create<Pod>(MakePod(name).Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  }
  h_.api.FailNext(Error::FromHttpStatus(403, "Forbidden", "no, says the policy"),
                  "PUT /api/v1/namespaces/shop/pods/a", 1000000);
  h_.DeleteConfig("shop", "a");
  h_.Pass(15s);
  EXPECT_FALSE(IsGated({"shop", "b"}));
  h_.Pass(30s);
  EXPECT_GE(h_.api.CountCalls("PUT /api/v1/namespaces/shop/pods/a"), 10);
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  h_.Pass(5s);
  EXPECT_EQ(h_.Events(api::kReasonGateRemovalFailed, "a"), 1);
}

TEST_F(ShardReconcilerTest, AClientThatKeepsCreatingGatedPodsDelaysTheTeardownForABoundedTime) {
  ASSERT_TRUE(h_.BringUp("shop"));
  ASSERT_TRUE(h_.BringUp("farm"));
  h_.DeleteConfig("shop", "a");
  for (int i = 0; i < 900 && !h_.ShardRemoved("shop"); ++i) {
    h_.api.Create<Pod>(
        MakePod("p" + std::to_string(i)).Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
    h_.Pass(100ms);
  }
  EXPECT_TRUE(h_.ShardRemoved("shop"));
}

// A pod that has the cluster gate alone is none of the shard's.
TEST_F(ShardReconcilerTest, TheTeardownIgnoresPodsWithTheClusterGateAlone) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kClusterGate));
  h_.DeleteConfig("shop", "a");
  h_.Pass(5s);
  EXPECT_TRUE(h_.ShardRemoved("shop"));
  EXPECT_TRUE(placement::HasGate(*h_.api.Get<Pod>({"shop", "web"}), api::kClusterGate));
}

TEST_F(ShardReconcilerTest, TheStatusReportsWhatTheTeardownWaitsFor) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  h_.api.FailNext(Error::PermissionDenied("no"), "PUT /api/v1/namespaces/shop/pods/web", 1000000);
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["metadata"].erase("finalizers");
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  h_.Pass(15s);
  EXPECT_EQ(h_.Condition("shop", "a", "Progressing"), "True Deprovisioning");
  EXPECT_NE(h_.Message("shop", "a", "Progressing").find("shop/web"), std::string::npos);
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }) ||
              h_.Await([&] { return h_.ShardRemoved("shop"); }));
  h_.Pass(1s);
  EXPECT_EQ(h_.Condition("shop", "a", "Progressing"), "False NoShard");
}

// I7: its API server may not know yet that the Role is deleted.
TEST_F(ShardReconcilerTest, ALeaseThatAShardCreatesAtItsEndIsDeleted) {
  const kube::ObjectKey authority{"ops", "pod-placement-shard-ca-shop"};
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(RunningPod());
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.CallIndex("DELETE /apis/coordination.k8s.io") >= 0; }));
  h_.api.CreateJson(kube::kLeases,
                    {{"metadata", {{"namespace", "shop"}, {"name", kController.name}}}});
  h_.Pass(10s);
  EXPECT_TRUE(h_.SecretExists(authority)) << "the teardown is not complete";
  // Nor does another operator forget it.
  h_.StopOperator();
  h_.StartOperator();
  h_.Pass(5s);
  h_.api.Delete<Pod>({"shop", "p"});
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_FALSE(h_.Exists(kube::kLeases, kController));
}

TEST_F(ShardReconcilerTest, APodThatDoesNotEndDelaysTheTeardownForABoundedTime) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(RunningPod());
  h_.DeleteConfig("shop", "a");
  h_.Pass(30s);
  EXPECT_FALSE(h_.Exists(kube::kDeployments, kController));
  EXPECT_FALSE(h_.ShardRemoved("shop"));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

// I7: whatever the point at which the operator was replaced.
TEST_F(ShardReconcilerTest, AnotherOperatorFinishesTheTeardown) {
  for (auto after : {0ms, 300ms, 1000ms, 2500ms}) {
    ASSERT_TRUE(h_.BringUp("shop"));
    h_.DeleteConfig("shop", "a");
    h_.Pass(after);
    h_.StopOperator();
    h_.StartOperator();
    EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); })) << after.count();
  }
}

TEST_F(ShardReconcilerTest, AnAuthorityAloneContinuesATeardown) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.StopOperator();
  // The config and all objects but the authority were deleted while no operator ran.
  h_.DeleteConfig("shop", "a");
  for (const kube::Resource& resource :
       {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kRoles,
        kube::kRoleBindings}) {
    for (const Json& object : h_.api.ListJson(resource, "shop")) {
      h_.api.DeleteJson(resource, {"shop", kube::StringAt(object, "metadata.name")});
    }
  }
  h_.api.DeleteJson(kube::kMutatingWebhookConfigurations, {"", "pod-placement-shard-shop"});
  h_.StartOperator();
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

TEST_F(ShardReconcilerTest, ANewConfigCancelsTheTeardown) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.DeleteConfig("shop", "a");
  h_.Pass(1s);
  h_.CreateConfig("shop", "b", 1);
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/b"; }));
  h_.Pass(20s);
  EXPECT_TRUE(h_.Exists(kube::kDeployments, kController));
}

TEST_F(ShardReconcilerTest, WithoutAClusterConfigThereIsNoShard) {
  ASSERT_TRUE(h_.BringUp("shop"));
  // The config is removed by force, without its finalizers.
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["metadata"].erase("finalizers");
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ClusterRemoved(); }));
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "False ClusterPodPlacementConfigMissing");
  // The shard comes back with the config.
  ASSERT_TRUE(h_.BringUpCluster());
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kController); }));
}

TEST_F(ShardReconcilerTest, ReservedNamespacesHaveNoShard) {
  h_.CreateConfig("kube-system", "a", 1);
  EXPECT_TRUE(h_.Await(
      [&] { return h_.Condition("kube-system", "a", "Available") == "False ReservedNamespace"; }));
  h_.Pass(5s);
  EXPECT_TRUE(h_.ShardRemoved("kube-system"));
}

// No controller would set the requirement of its pods.
TEST_F(ShardReconcilerTest, ANamespaceThatIsNotSelectedHasNoShard) {
  const Json kTeamA = {{"matchLabels", {{"team", "a"}}}};
  h_.SetNamespace("shop", {{"team", "b"}});
  h_.SetNamespaceSelector(kTeamA);
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await(
      [&] { return h_.Condition("shop", "a", "Available") == "False NamespaceNotSelected"; }));
  EXPECT_NE(h_.Message("shop", "a", "Available").find(R"({"matchLabels":{"team":"a"}})"),
            std::string::npos);
  h_.Pass(5s);
  EXPECT_TRUE(h_.ShardRemoved("shop"));

  // The namespace's labels change, and change back.
  h_.SetNamespace("shop", {{"team", "a"}});
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.RollOutShard("shop");
  ASSERT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Available") == "True AsExpected"; }));
  h_.SetNamespace("shop", {});
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "False NamespaceNotSelected");

  // The selector changes.
  h_.SetNamespaceSelector(Json::object());
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.RollOutShard("shop");
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Available") == "True AsExpected"; }));
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/a"; }));
}

// I7
TEST_F(ShardReconcilerTest, PodsOfANamespaceThatIsNotSelectedAnyMoreAreReleased) {
  h_.SetNamespace("shop", {{"team", "b"}});
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  h_.SetNamespaceSelector({{"matchLabels", {{"team", "a"}}}});
  ASSERT_TRUE(h_.Await([&] { return Entries() == "none"; }));
  EXPECT_TRUE(h_.Await([&] { return !IsGated({"shop", "web"}); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

// The namespace is excluded as one that the selector does not select.
TEST_F(ShardReconcilerTest, ANamespaceThatOptsOutHasNoShard) {
  h_.SetNamespace("shop", {});
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Create<Pod>(MakePod("web").Namespace("shop").Phase("Pending").Gate(api::kLocalGate));
  h_.SetNamespace("shop", {{std::string(api::kExcludeLabel), "false"}});
  ASSERT_TRUE(h_.Await([&] { return Entries() == "none"; }));
  EXPECT_TRUE(h_.Await([&] { return !IsGated({"shop", "web"}); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "False NamespaceNotSelected");
  EXPECT_NE(h_.Message("shop", "a", "Available").find(api::kExcludeLabel), std::string::npos);
  h_.SetNamespace("shop", {});
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
}

TEST_F(ShardReconcilerTest, ExcludedSchedulersAreInTheEntriesOfEachNamespace) {
  ASSERT_TRUE(h_.BringUp("shop"));
  ASSERT_TRUE(h_.Await([&] { return Entries() == "/local/a"; }));
  auto named = [&] {
    return kube::DumpJson(*h_.WebhookConfiguration("shop")).find("in ['volcano']") !=
           std::string::npos;
  };
  EXPECT_FALSE(named());
  h_.SetExcludedSchedulers({"volcano"});
  EXPECT_TRUE(h_.Await(named));
  h_.SetExcludedSchedulers({});
  EXPECT_TRUE(h_.Await([&] { return !named(); }));
}

// The two watches are not of one moment: nothing is torn down for a namespace that is only not
// known yet.
TEST_F(ShardReconcilerTest, AnUnknownNamespaceIsWaitedFor) {
  h_.api.CreateJson(Harness::kConfigs, api::MakeConfig("a", "shop").Prefer("arm64", 50).Build());
  h_.Pass(5s);
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "none");
  h_.SetNamespace("shop", {});
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
}

TEST_F(ShardReconcilerTest, AQuotaIsReportedInEveryConfigOfTheNamespace) {
  h_.CreateConfig("shop", "a", 1);
  h_.CreateConfig("shop", "b", 2);
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.RollOut("shop", api::kShardWebhookName);
  Json deployment = *h_.api.GetJson(kube::kDeployments, kController);
  Json condition = {{"type", "ReplicaFailure"},
                    {"status", "True"},
                    {"reason", "FailedCreate"},
                    {"message", "quota"}};
  deployment["status"]["conditions"] = Json::array({condition});
  h_.api.UpdateJson(kube::kDeployments, deployment);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "True FailedCreate"; }));
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "b", "Degraded") == "True FailedCreate"; }));
  // The condition is taken back when the problem ends.
  h_.RollOut("shop", api::kShardControllerName);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "False AsExpected"; }));
}

TEST_F(ShardReconcilerTest, FailingPodsAreReportedWithTheirReason) {
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.api.CreateJson(kube::kPods, PodWithoutImage());
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "True ImagePullBackOff"; }));
}

// Its first reconcile looks at the pods, although it has not seen for how long they do not run.
TEST_F(ShardReconcilerTest, ANewOperatorDoesNotTakeBackAProblem) {
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.api.CreateJson(kube::kPods, PodWithoutImage());
  auto degraded = [&] { return h_.Condition("shop", "a", "Degraded") == "True ImagePullBackOff"; };
  ASSERT_TRUE(h_.Await(degraded));
  h_.StopOperator();
  h_.StartOperator();
  for (int second = 0; second < 30; ++second) {
    EXPECT_TRUE(degraded()) << second;
    h_.Pass(1s);
  }
}

// Its pods are served by the cluster controller meanwhile, as without a shard.
TEST_F(ShardReconcilerTest, AShardThatNeverRunsIsDegradedAndGetsNoEntry) {
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kDeployments, kWebhook); }));
  h_.RollOut("shop", api::kShardWebhookName);
  Json deployment = *h_.api.GetJson(kube::kDeployments, kController);
  Json late = {
      {"type", "Progressing"}, {"status", "False"}, {"reason", "ProgressDeadlineExceeded"}};
  deployment["status"]["conditions"] = Json::array({late});
  h_.api.UpdateJson(kube::kDeployments, deployment);
  EXPECT_TRUE(h_.Await(
      [&] { return h_.Condition("shop", "a", "Degraded") == "True ProgressDeadlineExceeded"; }));
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "False ControllerNotAvailable");
  h_.Pass(60s);
  EXPECT_EQ(Entries(), "none");
}

TEST_F(ShardReconcilerTest, ARefusedObjectIsReportedAndRetried) {
  h_.api.FailNext(Error::FromHttpStatus(403, "Forbidden", "exceeded quota: count/services"),
                  "/services/", 8);
  h_.CreateConfig("shop", "a", 1);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "True QuotaExceeded"; }));
  EXPECT_NE(h_.Message("shop", "a", "Degraded").find("Remedy: raise the ResourceQuota"),
            std::string::npos);
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kServices, kWebhook); }));
  EXPECT_TRUE(h_.Await([&] { return h_.Events("ShardRecovered", "a") == 1; }));
  EXPECT_EQ(h_.Events("ShardDegraded", "a"), 1);
}

// As when the operator's ClusterRole is an older one.
TEST_F(ShardReconcilerTest, AMissingRightIsNamed) {
  Error missing = Error::FromHttpStatus(
      403, "Forbidden",
      "roles.rbac.authorization.k8s.io \"r\" is forbidden: User \"o\" cannot patch resource "
      "\"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \"shop\"");
  h_.api.FailNext(missing, "/roles/", 8);
  h_.CreateConfig("shop", "a", 1);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "True RightsMissing"; }));
  EXPECT_NE(h_.Message("shop", "a", "Degraded")
                .find("the operator may not patch roles.rbac.authorization.k8s.io in namespace "
                      "shop"),
            std::string::npos)
      << h_.Message("shop", "a", "Degraded");
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kRoles, kController); }));
}

// The API server reports it as an error of its own.
TEST_F(ShardReconcilerTest, AnAdmissionWebhookThatFailsIsReported) {
  Error failed = Error::FromHttpStatus(500, "InternalError",
                                       "Internal error occurred: failed calling webhook "
                                       "\"team.example.com\": context deadline exceeded");
  h_.api.FailNext(failed, "/services/", 1000);
  h_.CreateConfig("shop", "a", 1);
  EXPECT_TRUE(h_.Await(
      [&] { return h_.Condition("shop", "a", "Degraded") == "True AdmissionWebhookFailed"; }));
  EXPECT_NE(h_.Message("shop", "a", "Degraded").find("team.example.com"), std::string::npos);
}

TEST_F(ShardReconcilerTest, EventsTellWhatTheOperatorDid) {
  ASSERT_TRUE(h_.BringUp("shop"));
  ASSERT_TRUE(h_.Await([&] { return h_.Events("ShardAvailable", "a") > 0; }));
  EXPECT_TRUE(h_.Await([&] { return h_.Events("OperandsAvailable", "cluster") == 1; }));
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_TRUE(h_.Await([&] { return h_.Events("ShardRemoved", "cluster") == 1; }));
}

TEST_F(ShardReconcilerTest, ADeletionThatIsHeldTellsByWhat) {
  ASSERT_TRUE(h_.BringUp("shop"));
  Json config = *h_.api.GetJson(Harness::kConfigs, {"shop", "a"});
  config["metadata"]["finalizers"] = Json::array({"example.com/backup"});
  h_.api.UpdateJson(Harness::kConfigs, config);
  h_.DeleteConfig("shop", "a");
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Progressing") == "True DeletionHeld"; }));
  EXPECT_NE(h_.Message("shop", "a", "Progressing").find("example.com/backup"), std::string::npos);
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  EXPECT_TRUE(h_.Await([&] {
    std::string message = h_.ClusterMessage("Deprovisioning");
    return message.find("shop/a") != std::string::npos &&
           message.find("example.com/backup") != std::string::npos;
  })) << h_.ClusterMessage("Deprovisioning");
}

TEST_F(ShardReconcilerTest, AnUnreachableApiServerIsNotDegraded) {
  h_.api.FailNext(Error::Unavailable("503"), "/services/", 3);
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return h_.Exists(kube::kServices, kWebhook); }));
  h_.Pass(1s);
  EXPECT_EQ(h_.Condition("shop", "a", "Degraded"), "False AsExpected");
}

// Those that raced past the webhook: only the oldest gates pods, until it goes or one of them
// changes.
TEST_F(ShardReconcilerTest, OfConfigsWithOnePriorityOnlyTheOldestIsApplied) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.Pass(2s);
  h_.CreateConfig("shop", "0", 1);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "0", "Degraded") == "True PriorityConflict"; }));
  EXPECT_EQ(h_.Condition("shop", "0", "Available"), "False PriorityConflict");
  EXPECT_EQ(h_.Condition("shop", "a", "Degraded"), "False AsExpected");
  EXPECT_EQ(Entries(), "/local/a");

  Json changed = *h_.api.GetJson(Harness::kConfigs, {"shop", "0"});
  changed["spec"]["priority"] = 2;
  h_.api.UpdateJson(Harness::kConfigs, changed);
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/0 /local/a"; })) << Entries();
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "0", "Degraded") == "False AsExpected"; }));

  h_.CreateConfig("shop", "b", 2);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "b", "Degraded") == "True PriorityConflict"; }));
  h_.DeleteConfig("shop", "0");
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "b", "Degraded") == "False AsExpected"; }));
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/b /local/a"; })) << Entries();
}

TEST_F(ShardReconcilerTest, DeletedObjectsAreCreatedAgain) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.DeleteJson(kube::kRoles, kController);
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kRoles, kController); }));
  h_.api.DeleteJson(kube::kMutatingWebhookConfigurations, {"", "pod-placement-shard-shop"});
  EXPECT_TRUE(h_.Await([&] { return Entries() == "/local/a"; }));
}

TEST_F(ShardReconcilerTest, ChangedObjectsAreMended) {
  ASSERT_TRUE(h_.BringUp("shop"));
  Json deployment = *h_.api.GetJson(kube::kDeployments, kController);
  deployment["spec"]["replicas"] = 0;
  h_.api.UpdateJson(kube::kDeployments, deployment);
  EXPECT_TRUE(h_.Await(
      [&] { return (*h_.api.GetJson(kube::kDeployments, kController))["spec"]["replicas"] == 1; }));
}

TEST_F(ShardReconcilerTest, TheVerbosityChangesWithoutARestart) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.Pass(2s);
  auto generation = [&](const kube::ObjectKey& key) {
    return (*h_.api.GetJson(kube::kDeployments, key))["metadata"]["generation"];
  };
  auto verbosity = [&](const kube::ObjectKey& key) {
    return kube::StringAt(*h_.api.GetJson(kube::kConfigMaps, key), "data.log-verbosity");
  };
  const kube::ObjectKey settings{"shop", "pod-placement-settings"};
  const kube::ObjectKey of_cluster{"ops", "pod-placement-settings"};
  EXPECT_EQ(verbosity(settings), "Normal");
  Json controller = generation(kController);
  int applied = h_.api.CountCalls("PATCH /apis/apps/v1");
  h_.SetLogVerbosity("Trace");
  EXPECT_TRUE(h_.Await([&] { return verbosity(settings) == "Trace"; }));
  EXPECT_TRUE(h_.Await([&] { return verbosity(of_cluster) == "Trace"; }));
  h_.Pass(5s);
  EXPECT_EQ(generation(kController), controller);
  EXPECT_EQ(h_.api.CountCalls("PATCH /apis/apps/v1"), applied);
}

TEST_F(ShardReconcilerTest, ReplicasAndResourcesOfTheClusterConfigAreRolledOut) {
  ASSERT_TRUE(h_.BringUp("shop"));
  // The periodic check of the shard is due much later.
  h_.Pass(2s);
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  Json limits = {{"cpu", "500m"}, {"memory", "128Mi"}};
  config["spec"]["operands"]["shard"] = {{"replicas", 2}, {"resources", {{"limits", limits}}}};
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  h_.Pass(5s);
  for (std::string_view name : {api::kShardControllerName, api::kShardWebhookName}) {
    Json spec = (*h_.api.GetJson(kube::kDeployments, {"shop", std::string(name)}))["spec"];
    EXPECT_EQ(spec["replicas"], 2) << name;
    EXPECT_EQ(spec["template"]["spec"]["containers"][0]["resources"]["limits"], limits) << name;
  }
}

TEST_F(ShardReconcilerTest, ANewOperatorChangesNoCorrectObject) {
  ASSERT_TRUE(h_.BringUp("shop"));
  ASSERT_TRUE(h_.BringUp("farm"));
  // Also the first probe of the webhooks.
  h_.Pass(30s);
  h_.StopOperator();
  uint64_t version = h_.api.resource_version();
  size_t calls = h_.api.calls().size();
  int statuses = h_.api.CountCalls("/status");
  h_.StartOperator();
  h_.Pass(30s);
  EXPECT_EQ(h_.api.resource_version(), version);
  EXPECT_EQ(h_.api.CountCalls("/status"), statuses);
  for (size_t i = calls; i < h_.api.calls().size(); ++i) {
    const std::string& call = h_.api.calls()[i];
    EXPECT_FALSE(call.starts_with("PATCH")) << call;
    // With many namespaces, two reads of each would delay what has changed.
    EXPECT_EQ(call.find("shop"), std::string::npos) << call;
  }
}

TEST_F(ShardReconcilerTest, ChangesWithoutARunningOperatorAreMended) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.StopOperator();
  Json deployment = *h_.api.GetJson(kube::kDeployments, kController);
  deployment["spec"]["replicas"] = 0;
  h_.api.UpdateJson(kube::kDeployments, deployment);
  Json role = *h_.api.GetJson(kube::kRoles, kController);
  role["rules"] = Json::array();
  h_.api.UpdateJson(kube::kRoles, role);
  h_.StartOperator();
  EXPECT_TRUE(h_.Await(
      [&] { return (*h_.api.GetJson(kube::kDeployments, kController))["spec"]["replicas"] == 1; }));
  EXPECT_TRUE(
      h_.Await([&] { return !(*h_.api.GetJson(kube::kRoles, kController))["rules"].empty(); }));
}

// The operator restores the object, but not as fast as it is changed, and other namespaces do not
// wait for that.
TEST_F(ShardReconcilerTest, ChangesOfAnOperandInALoopAreMendedWithADelay) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.Pass(2min);
  int before = h_.api.CountCalls("shop/roles/");
  for (int i = 0; i < 1200; ++i) {
    Json role = *h_.api.GetJson(kube::kRoles, kController);
    role["rules"] = Json::array();
    h_.api.UpdateJson(kube::kRoles, role);
    h_.Pass(100ms);
  }
  EXPECT_LT(h_.api.CountCalls("shop/roles/"), before + 50 + 60 + 5);
  EXPECT_TRUE(
      h_.Await([&] { return !(*h_.api.GetJson(kube::kRoles, kController))["rules"].empty(); }));
  ASSERT_TRUE(h_.BringUp("farm"));
}

TEST_F(ShardReconcilerTest, ANamespaceCostsNoCallsInAnother) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.Pass(5s);
  int before = h_.api.CountCalls("shop");
  ASSERT_TRUE(h_.BringUp("farm"));
  h_.Pass(5s);
  EXPECT_EQ(h_.api.CountCalls("shop"), before);
}

TEST_F(ShardReconcilerTest, ANamespaceThatIsBeingDeletedIsNotRetried) {
  Error terminating = Error::FromHttpStatus(403, "Forbidden", "roles \"x\" is forbidden")
                          .WithCauses({{"NamespaceTerminating", "", "metadata.namespace"}});
  h_.api.FailNext(terminating, "namespaces/shop", 1000);
  h_.CreateConfig("shop", "a", 1);
  h_.Pass(10s);
  EXPECT_LT(h_.api.CountCalls("namespaces/shop"), 5);
}

}  // namespace
}  // namespace operator_
