// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "operator/testing/harness.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/operator/testing/policies.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using namespace std::chrono_literals;

const std::string kWebhook(policy::kWebhookName);

class PolicyReconcilerTest : public testing::Test {
 protected:
  void SetUp() override { h_.StartOperator(); }

  // Calls that need an answer, without watches.
  size_t Calls() {
    size_t count = 0;
    for (const std::string& call : h_.api.calls()) count += !call.starts_with("WATCH");
    return count;
  }
  size_t Webhooks() { return (*h_.Configuration())["webhooks"].size(); }

  PoliciesHarness h_;
};

TEST_F(PolicyReconcilerTest, NothingIsDeployedWithoutAPolicyThatSelectsSomething) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.SetPlugin(true);
  h_.PutPolicy("shop", "none", {{"schedulerName", "s"}});
  h_.PutPolicy("shop", "bad", {{"podSelector", Json::object()}, {"nodeName", "-"}});
  h_.PutPolicy("kube-system", "reserved");
  h_.PutPolicy("ops", "own");
  h_.Pass(5s);
  EXPECT_FALSE(h_.Deployed());
  EXPECT_TRUE(h_.PolicyWebhookRemoved());
  EXPECT_EQ(h_.Ready("shop", "none"), "False SelectsNothing");
  EXPECT_EQ(h_.Accepted("shop", "bad"), "False InvalidSpec");
  EXPECT_EQ(h_.Ready("shop", "bad"), "False NotAccepted");
  EXPECT_EQ(h_.Ready("kube-system", "reserved"), "False ReservedNamespace");
  EXPECT_EQ(h_.Ready("ops", "own"), "False ReservedNamespace");
}

TEST_F(PolicyReconcilerTest, NothingIsDeployedWithoutThePlugin) {
  h_.PutPolicy("shop", "a");
  h_.Pass(2s);
  EXPECT_EQ(h_.Ready("shop", "a"), "False Disabled");
  ASSERT_TRUE(h_.BringUpCluster());
  h_.Pass(2s);
  EXPECT_FALSE(h_.Deployed());
  EXPECT_EQ(h_.Ready("shop", "a"), "False Disabled");
}

// A quota, or another webhook.
TEST_F(PolicyReconcilerTest, WithoutAServiceAccountNothingIsCreatedThatWouldBeLeft) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.FailNext(Error::FromHttpStatus(403, "Forbidden", "exceeded quota"),
                  "serviceaccounts/" + kWebhook, 1'000'000);
  h_.SetPlugin(true);
  h_.PutPolicy("shop", "a");
  h_.Pass(30s);
  EXPECT_GT(h_.api.CountCalls("serviceaccounts/" + kWebhook), 0);
  EXPECT_FALSE(h_.SecretExists({"ops", kWebhook}));
  h_.SetPlugin(false);
  EXPECT_TRUE(h_.Await([&] { return h_.PolicyWebhookRemoved(); }));
}

TEST_F(PolicyReconcilerTest, APolicyBecomesReadyInTheRightOrder) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.SetPlugin(true);
  h_.PutPolicy("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.Deployed(); }));
  h_.Pass(2s);
  // The API server does not call a webhook that does not answer.
  EXPECT_FALSE(h_.Configuration());
  EXPECT_EQ(h_.Ready("shop", "a"), "False WebhookUnavailable");

  h_.dry_run.configured = false;
  h_.RollOut("ops", kWebhook);
  ASSERT_TRUE(h_.Await([&] { return h_.Configuration().has_value(); }));
  h_.Renew("one");
  h_.Renew("two");
  h_.Pass(5s);
  EXPECT_EQ(h_.Ready("shop", "a"), "False NotConfigured");

  h_.dry_run.configured = true;
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "True InForce"; }));
  EXPECT_EQ(h_.Accepted("shop", "a"), "True Accepted");
  EXPECT_FALSE(h_.Exists(kube::kDeployments, {"ops", kWebhook + "-probe"}));
}

TEST_F(PolicyReconcilerTest, AReplicaThatLagsKeepsThePolicyWaiting) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.PutPolicy("shop", "b");
  h_.Renew("one");
  h_.Renew("two", 1);
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "b") == "False Propagating"; }));
  EXPECT_EQ(h_.ReadyMessage("shop", "b"), "1 of 2 replicas have it");
  EXPECT_EQ(h_.Ready("shop", "a"), "True InForce");
  // It lives, so it is waited for.
  for (int i = 0; i < 6; ++i) {
    h_.Pass(10s);
    h_.Renew("one");
    h_.Renew("two", 1);
  }
  EXPECT_EQ(h_.Ready("shop", "b"), "False Propagating");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "b") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, WithoutTheLeaseOfAReadyReplicaNoPolicyIsReady) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.EndReplica("two");
  h_.PutPolicy("shop", "b");
  h_.Renew("one");
  h_.Pass(5s);
  EXPECT_EQ(h_.Ready("shop", "b"), "False Propagating");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "b") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, TheLeaseOfADeadReplicaIsDeleted) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.Renew("new");
  h_.RollOut("ops", kWebhook);
  h_.PutPolicy("shop", "b");
  for (int i = 0; i < 3; ++i) {
    h_.Renew("two");
    h_.Renew("new");
    h_.Pass(10s);
  }
  EXPECT_EQ(h_.ReadyMessage("shop", "b"), "2 of 3 replicas have it");
  EXPECT_TRUE(h_.HasLease("one"));
  h_.Renew("two");
  h_.Renew("new");
  h_.Pass(20s);
  EXPECT_FALSE(h_.HasLease("one"));
  EXPECT_TRUE(h_.HasLease("two"));
  EXPECT_TRUE(h_.HasLease("new"));
  EXPECT_EQ(h_.Ready("shop", "b"), "True InForce");
}

TEST_F(PolicyReconcilerTest, ANewGenerationWaitsAgain) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.PutPolicy("shop", "a", {{"podSelector", Json::object()}, {"schedulerName", "t"}});
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "False Propagating"; }));
  h_.Renew("one");
  h_.Renew("two");
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "True InForce"; }));
  Json policy = *h_.api.GetJson(PoliciesHarness::kPolicies, {"shop", "a"});
  EXPECT_EQ(policy["status"]["observedGeneration"], 2);
}

TEST_F(PolicyReconcilerTest, ANewNamespaceWithPoliciesIsConfiguredFirst) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.dry_run.configured = false;
  h_.PutPolicy("bank", "b");
  h_.Renew("one");
  h_.Renew("two");
  h_.Pass(5s);
  EXPECT_EQ(h_.Ready("bank", "b"), "False NotConfigured");
  // Both configurations cover it.
  EXPECT_EQ(h_.Ready("shop", "a"), "True InForce");
  h_.dry_run.configured = true;
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("bank", "b") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, AClusterPolicyHasAnEntryOfItsOwn) {
  ASSERT_TRUE(h_.BringUpPolicies());
  EXPECT_EQ(Webhooks(), 2u);
  Json selector = {{"matchLabels", {{"env", "prod"}}}};
  Json spec = {
      {"podSelector", Json::object()}, {"namespaceSelector", selector}, {"schedulerName", "s"}};
  h_.PutPolicy("", "all", spec);
  h_.Renew("one");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("", "all") == "True InForce"; }));
  EXPECT_EQ(Webhooks(), 3u);
  h_.DeletePolicy("", "all");
  EXPECT_TRUE(h_.Await([&] { return Webhooks() == 2; }));
}

// A user creates and deletes policies in a loop.
TEST_F(PolicyReconcilerTest, ATenantChangesTheConfigurationNowAndThenOnly) {
  ASSERT_TRUE(h_.BringUpPolicies());
  int before = h_.api.CountCalls("PATCH /apis/admissionregistration.k8s.io/v1/mutating");
  for (int i = 0; i < 50; ++i) {
    h_.PutPolicy("loop", "x");
    h_.Pass(200ms);
    h_.DeletePolicy("loop", "x");
    h_.Pass(200ms);
  }
  int changes = h_.api.CountCalls("PATCH /apis/admissionregistration.k8s.io/v1/mutating") - before;
  EXPECT_LE(changes, 11);
  EXPECT_EQ(h_.Ready("shop", "a"), "True InForce");
  // Others are served meanwhile.
  h_.PutPolicy("shop", "b");
  h_.Renew("one");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "b") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, ManyPoliciesOfOneNamespaceDoNotDelayOthers) {
  ASSERT_TRUE(h_.BringUpPolicies());
  constexpr int kMany = 250;
  for (int i = 0; i < kMany; ++i) h_.PutPolicy("many", "p" + std::to_string(i));
  h_.PutPolicy("shop", "b");
  h_.PutPolicy("", "c");
  h_.Renew("one");
  h_.Renew("two");
  std::string status = "PATCH /apis/kupid.gardener.cloud/v1alpha1/namespaces/many/";
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "b") == "True InForce"; }));
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("many", "p249") == "True InForce"; }));
  // One write for each, and one list of the replicas for many.
  EXPECT_LE(h_.api.CountCalls(status), 2 * kMany);
}

// The webhook leaves out what exceeds the budget of the namespace.
TEST_F(PolicyReconcilerTest, APolicyThatIsTooLargeIsNotReady) {
  ASSERT_TRUE(h_.BringUpPolicies());
  auto large = [](size_t bytes) -> Json {
    return {{"podSelector", Json::object()},
            {"schedulerName", "s"},
            {"padding", std::string(bytes, 'x')}};
  };
  h_.PutPolicy("shop", "larger", large(70 << 10));
  for (int i = 0; i < 5; ++i) h_.PutPolicy("full", "p" + std::to_string(i), large(60 << 10));
  h_.PutPolicy("bank", "b");
  h_.Renew("one");
  h_.Renew("two");
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("bank", "b") == "True InForce"; }));
  EXPECT_EQ(h_.Ready("shop", "a"), "True InForce");
  EXPECT_EQ(h_.Ready("shop", "larger"), "False TooLarge");
  EXPECT_EQ(h_.Ready("full", "p3"), "True InForce");
  EXPECT_EQ(h_.Ready("full", "p4"), "False TooLarge");
  // There is room again.
  h_.DeletePolicy("full", "p0");
  h_.PutPolicy("full", "p4", large(50 << 10));
  h_.Renew("one");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("full", "p4") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, AtRestThereAreNoCalls) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.Pass(15s);
  size_t calls = Calls();
  h_.Pass(120s);
  EXPECT_EQ(Calls(), calls);
}

TEST_F(PolicyReconcilerTest, ARestartedOperatorWritesNothing) {
  ASSERT_TRUE(h_.BringUpPolicies());
  // Also the first probe of the webhooks.
  h_.Pass(15s);
  h_.StopOperator();
  int writes = h_.Writes();
  h_.StartOperator();
  h_.Pass(15s);
  EXPECT_EQ(h_.Writes(), writes);
  EXPECT_EQ(h_.Ready("shop", "a"), "True InForce");
}

TEST_F(PolicyReconcilerTest, AConfigurationThatSomebodyDeletesIsMissed) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.Pass(1s);
  h_.dry_run.configured = false;
  h_.api.DeleteJson(kube::kMutatingWebhookConfigurations,
                    {"", std::string(policy::kWebhookConfigurationName)});
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "False NotConfigured"; }));
  h_.dry_run.configured = true;
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, AProbeThatIsRefusedStopsNothingElse) {
  h_.dry_run.refuse = true;
  EXPECT_FALSE(h_.BringUpPolicies());
  EXPECT_EQ(h_.Ready("shop", "a"), "False NotConfigured");
  EXPECT_TRUE(h_.Configuration());
  h_.dry_run.refuse = false;
  h_.Renew("one");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, AnUnavailableWebhookKeepsItsConfigurationAndHasACause) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.ExceedQuota("ops", kWebhook);
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "False WebhookUnavailable"; }));
  EXPECT_TRUE(h_.Await(
      [&] { return h_.ReadyMessage("shop", "a").find("QuotaExceeded") != std::string::npos; }));
  EXPECT_TRUE(h_.Configuration());
  h_.RollOut("ops", kWebhook);
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, TheWebhookHasTheReplicasOfTheConfig) {
  ASSERT_TRUE(h_.BringUpPolicies());
  auto set_replicas = [&](Json settings) {
    Json config = *h_.api.GetJson(PoliciesHarness::kClusterConfigs, {"", "cluster"});
    config["spec"]["operands"]["policyWebhook"] = std::move(settings);
    h_.api.UpdateJson(PoliciesHarness::kClusterConfigs, config);
  };
  auto replicas = [&] {
    return (*h_.api.GetJson(kube::kDeployments, {"ops", kWebhook}))["spec"]["replicas"];
  };
  set_replicas({{"replicas", 3}});
  EXPECT_TRUE(h_.Await([&] { return replicas() == 3; }));
  set_replicas(nullptr);
  EXPECT_TRUE(h_.Await([&] { return replicas() == 2; }));
}

TEST_F(PolicyReconcilerTest, WithoutThePluginTheConfigurationGoesFirst) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.SetPlugin(false);
  ASSERT_TRUE(h_.Await([&] { return !h_.Configuration(); }));
  EXPECT_TRUE(h_.Deployed());
  ASSERT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "False Disabled"; }));
  ASSERT_TRUE(h_.Await([&] { return !h_.Deployed(); }));
  // The replicas need their ServiceAccount until they end.
  EXPECT_TRUE(h_.Exists(kube::kServiceAccounts, {"ops", kWebhook}));
  h_.EndReplica("one");
  h_.EndReplica("two");
  EXPECT_TRUE(h_.Await([&] { return h_.PolicyWebhookRemoved(); }));
  EXPECT_TRUE(h_.SecretExists({"ops", "pod-placement-ca"}));

  h_.SetPlugin(true);
  ASSERT_TRUE(h_.Await([&] { return h_.Deployed(); }));
  h_.RunReplicas();
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "True InForce"; }));
}

TEST_F(PolicyReconcilerTest, EverythingIsRemovedWithTheLastPolicy) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.DeletePolicy("shop", "a");
  // The replicas crashed.
  EXPECT_TRUE(h_.Await([&] { return h_.PolicyWebhookRemoved(); }));
  EXPECT_LT(h_.CallIndex("DELETE /apis/admissionregistration.k8s.io/v1/mutating"),
            h_.CallIndex("DELETE /apis/apps/v1/namespaces/ops/deployments/" + kWebhook));
  int writes = h_.Writes();
  h_.Pass(30s);
  EXPECT_EQ(h_.Writes(), writes);
}

TEST_F(PolicyReconcilerTest, DeletionOfTheClusterConfigWaitsForTheRemoval) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(h_.Await([&] { return !h_.Deployed(); }));
  EXPECT_TRUE(h_.Exists(Harness::kClusterConfigs, {"", "cluster"}));
  h_.EndReplica("one");
  h_.EndReplica("two");
  ASSERT_TRUE(h_.Await([&] { return !h_.Exists(Harness::kClusterConfigs, {"", "cluster"}); }));
  EXPECT_TRUE(h_.PolicyWebhookRemoved());
  EXPECT_TRUE(h_.Await([&] { return h_.ClusterRemoved(); }));
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "a") == "False Disabled"; }));
}

TEST_F(PolicyReconcilerTest, AnotherOperatorEndsTheRemoval) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.SetPlugin(false);
  ASSERT_TRUE(h_.Await([&] { return !h_.Deployed(); }));
  h_.StopOperator();
  h_.StartOperator();
  EXPECT_TRUE(h_.Await([&] { return h_.PolicyWebhookRemoved(); }));
}

TEST_F(PolicyReconcilerTest, MissingCrdsDelayNobody) {
  h_.StopOperator();
  h_.api.FailNext(Error::FromHttpStatus(404, "NotFound", "the server has no such resource"),
                  "kupid.gardener.cloud", 1000);
  h_.StartOperator();
  ASSERT_TRUE(h_.BringUpCluster());
  h_.SetPlugin(true);
  EXPECT_TRUE(h_.BringUp("shop"));
  EXPECT_FALSE(h_.Deployed());
}

TEST_F(PolicyReconcilerTest, CrdsThatComeLaterAreNoticed) {
  h_.StopOperator();
  h_.api.FailNext(Error::FromHttpStatus(404, "NotFound", "the server has no such resource"),
                  "kupid.gardener.cloud", 10);
  h_.StartOperator();
  EXPECT_TRUE(h_.BringUpPolicies());
}

// About 50 KB: five of them fit into a namespace.
Json LargeSpec() {
  Json expressions = Json::array();
  for (int key = 0; key < 10; ++key) {
    Json values = Json::array();
    for (int value = 0; value < 90; ++value)
      values.push_back(std::string(50, 'v') + std::to_string(value));
    expressions.push_back(
        {{"key", "k" + std::to_string(key)}, {"operator", "NotIn"}, {"values", values}});
  }
  return {{"podSelector", {{"matchExpressions", expressions}}}, {"schedulerName", "s"}};
}

class FullNamespaceTest : public PolicyReconcilerTest {
 protected:
  // p5 is the oldest, p0 the youngest.
  void SetUp() override {
    PolicyReconcilerTest::SetUp();
    ASSERT_TRUE(h_.BringUpPolicies());
    for (int i = 5; i >= 0; --i) {
      h_.PutPolicy("full", "p" + std::to_string(i), LargeSpec());
      h_.Pass(1s);
    }
    ASSERT_TRUE(Settle() == "TRRRRR") << Settle();
  }
  // All replicas have seen everything. Returns: which policies are Ready, or TooLarge.
  std::string Settle() {
    for (int second = 0; second < 5; ++second) {
      h_.Renew("one");
      h_.Renew("two");
      h_.Pass(1s);
    }
    return States();
  }
  std::string States() {
    std::string states;
    for (int i = 0; i < 6; ++i) {
      std::string ready = h_.Ready("full", "p" + std::to_string(i));
      if (ready == "deleted") continue;
      states += ready == "True InForce" ? "R" : ready == "False TooLarge" ? "T" : "?";
    }
    return states;
  }
};

// A list has the youngest first.
TEST_F(FullNamespaceTest, ARestartedOperatorLeavesOutTheSame) {
  int writes = h_.api.CountCalls("/status");
  h_.StopOperator();
  h_.StartOperator();
  h_.Pass(1s);
  EXPECT_EQ(Settle(), "TRRRRR");
  EXPECT_EQ(h_.api.CountCalls("/status"), writes);
}

TEST_F(FullNamespaceTest, APolicyThatFitsAgainIsReadyWhenAllReplicasKnow) {
  h_.DeletePolicy("full", "p5");
  h_.Pass(3s);
  EXPECT_EQ(States(), "?RRRR") << "the replicas may not have seen the deletion";
  EXPECT_EQ(Settle(), "RRRRR");
}

TEST_F(FullNamespaceTest, APolicyThatFitsAgainWithoutAnOperatorIsReadyWhenAllReplicasKnow) {
  h_.StopOperator();
  h_.DeletePolicy("full", "p5");
  h_.StartOperator();
  h_.Pass(3s);
  EXPECT_EQ(States(), "?RRRR");
  EXPECT_EQ(Settle(), "RRRRR");
}

TEST_F(FullNamespaceTest, AnOlderPolicyThatGrowsDisplacesTheYoungest) {
  h_.PutPolicy("full", "p4", {{"podSelector", Json::object()}, {"schedulerName", "s"}});
  EXPECT_EQ(Settle(), "RRRRRR");
  h_.PutPolicy("full", "p4", LargeSpec());
  EXPECT_EQ(Settle(), "TRRRRR");
}

TEST_F(PolicyReconcilerTest, AStatusThatCannotBeWrittenStopsNoOther) {
  ASSERT_TRUE(h_.BringUpPolicies());
  h_.api.FailNext(Error::FromHttpStatus(422, "Invalid", "no, says a policy"),
                  "namespaces/shop/podschedulingpolicies/b", 1000);
  h_.PutPolicy("shop", "b");
  h_.PutPolicy("shop", "c");
  h_.Renew("one");
  h_.Renew("two");
  EXPECT_TRUE(h_.Await([&] { return h_.Ready("shop", "c") == "True InForce"; }));
  EXPECT_EQ(h_.Ready("shop", "b"), "none");
}

}  // namespace
}  // namespace operator_
