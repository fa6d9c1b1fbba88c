// SPDX-License-Identifier: Apache-2.0
// Probes of a leading operator, and what it reports about them.
#include "operator/probes/webhook_prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/names.h"
#include "kube/base/error.h"
#include "operator/testing/gating.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kNotAvailable = api::kMutatingWebhookConfigurationNotAvailable;
constexpr char kMetric[] = "mto_ppo_webhook_unreachable";

class WebhookProberTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
    h_.SetNamespace("shop", {});
    ASSERT_TRUE(h_.BringUp("shop"));
  }
  // Awaits a condition for up to two minutes.
  bool AwaitCluster(const std::string& condition) {
    auto holds = [&] { return h_.ClusterCondition(kNotAvailable) == condition; };
    return h_.Await(holds) || h_.Await(holds);
  }
  bool AwaitShard(std::string_view type, const std::string& condition) {
    auto holds = [&] { return h_.Condition("shop", "a", type) == condition; };
    return h_.Await(holds) || h_.Await(holds);
  }
  int Probes(const std::string& scope) { return h_.webhooks.probes[scope]; }

  GatingHarness h_;
};

TEST_F(WebhookProberTest, WebhooksAreProbedAndTheClustersStatusSaysSo) {
  EXPECT_THAT(h_.ClusterMessage(kNotAvailable), HasSubstr("is not known yet"));
  ASSERT_TRUE(h_.Await([&] { return Probes("Cluster") > 0 && Probes("shop") > 0; }));
  EXPECT_THAT(h_.webhooks.last_target, HasSubstr("/namespaces/ops/deployments?dryRun=All"));
  h_.Pass(5s);
  EXPECT_EQ(h_.ClusterCondition(kNotAvailable), "False AsExpected");
  EXPECT_EQ(h_.ClusterMessage(kNotAvailable), "the API server calls the webhook");
  int writes = h_.Writes();
  int cluster = Probes("Cluster");
  h_.Pass(10min);
  EXPECT_EQ(h_.Writes(), writes) << "probes change nothing";
  EXPECT_EQ(Probes("Cluster") - cluster, 10);
}

TEST_F(WebhookProberTest, AnUnreachableWebhookOfTheClusterIsReportedOnce) {
  h_.webhooks.unreachable = {"Cluster"};
  ASSERT_TRUE(AwaitCluster("True WebhookUnreachable"));
  EXPECT_GE(Probes("Cluster"), 3);
  EXPECT_THAT(h_.ClusterMessage(kNotAvailable), HasSubstr("the cluster's webhook"));
  EXPECT_EQ(h_.ClusterCondition(api::kAvailable), "False NotAllComponentsReady");
  EXPECT_EQ(h_.ClusterCondition(api::kDegraded), "True WebhookUnreachable");
  EXPECT_THAT(h_.ClusterMessage(api::kDegraded), HasSubstr("Service ops/pod-placement-web-hook"));
  EXPECT_EQ(h_.Metric(kMetric, R"(operand="pod-placement-web-hook",operand_namespace="ops")"), 1);
  EXPECT_EQ(h_.Condition("shop", "a", api::kAvailable), "True AsExpected");
  h_.Pass(5min);
  EXPECT_EQ(h_.Events("OperandsDegraded", "cluster"), 1);

  h_.webhooks.unreachable.clear();
  ASSERT_TRUE(AwaitCluster("False AsExpected"));
  EXPECT_EQ(h_.ClusterCondition(api::kAvailable), "True AllComponentsReady");
  EXPECT_EQ(h_.ClusterCondition(api::kDegraded), "False AsExpected");
  h_.Pass(5s);
  EXPECT_EQ(h_.Events("OperandsRecovered", "cluster"), 1);
  EXPECT_EQ(h_.Metric(kMetric, R"(operand="pod-placement-web-hook",operand_namespace="ops")"), 0);
}

TEST_F(WebhookProberTest, AnUnreachableWebhookOfANamespaceIsReportedThere) {
  h_.Pass(30s);
  h_.webhooks.unreachable = {"shop"};
  ASSERT_TRUE(AwaitShard(api::kAvailable, "False WebhookUnreachable"));
  EXPECT_EQ(h_.Condition("shop", "a", api::kDegraded), "True WebhookUnreachable");
  EXPECT_THAT(h_.Message("shop", "a", api::kDegraded),
              HasSubstr("Service shop/pod-placement-shard-web-hook"));
  EXPECT_EQ(h_.Condition("shop", "a", api::kProgressing), "False AsExpected");
  EXPECT_EQ(h_.ClusterCondition(kNotAvailable), "False AsExpected");
  EXPECT_EQ(
      h_.Metric(kMetric, R"(operand="pod-placement-shard-web-hook",operand_namespace="shop")"), 1);
  h_.Pass(5min);
  EXPECT_EQ(h_.Events("ShardDegraded", "a"), 1);
  h_.webhooks.unreachable.clear();
  ASSERT_TRUE(AwaitShard(api::kAvailable, "True AsExpected"));
  h_.Pass(5s);
  EXPECT_EQ(h_.Events("ShardRecovered", "a"), 1);
}

// Two failures in a row: a webhook that is just being restarted.
TEST_F(WebhookProberTest, AShortFailureIsNotReported) {
  h_.Pass(30s);
  h_.webhooks.unreachable = {"Cluster", "shop"};
  int before = Probes("Cluster");
  ASSERT_TRUE(h_.Await([&] { return Probes("Cluster") == before + 2; }));
  h_.webhooks.unreachable.clear();
  h_.Pass(5min);
  EXPECT_EQ(h_.Events("OperandsDegraded", "cluster"), 0);
  EXPECT_EQ(h_.Events("ShardDegraded", "a"), 0);
}

// A quota in the operator's namespace, a policy, a missing right.
TEST_F(WebhookProberTest, ARefusedProbeIsNotAnUnreachableWebhook) {
  h_.Pass(30s);
  EXPECT_EQ(h_.ClusterMessage(kNotAvailable), "the API server calls the webhook");
  h_.webhooks.refuse =
      kube::Error::FromHttpStatus(403, "Forbidden", "deployments is forbidden: exceeded quota: x");
  int before = Probes("Cluster");
  h_.Pass(5min);
  EXPECT_EQ(Probes("Cluster") - before, 5);
  EXPECT_EQ(h_.ClusterCondition(kNotAvailable), "False AsExpected");
  EXPECT_EQ(h_.ClusterCondition(api::kDegraded), "False AsExpected");
  EXPECT_EQ(h_.Condition("shop", "a", api::kAvailable), "True AsExpected");
}

// Its pods explain it, and may not know probes yet.
TEST_F(WebhookProberTest, AWebhookThatIsNotRolledOutIsNotProbed) {
  h_.Pass(30s);
  h_.webhooks.unreachable = {"Cluster", "shop"};
  h_.RollOut("shop", api::kShardWebhookName, /*runs=*/false);
  h_.RollOut("ops", api::kWebhookName, /*runs=*/false);
  h_.Pass(2s);
  int cluster = Probes("Cluster");
  int shop = Probes("shop");
  h_.Pass(5min);
  EXPECT_EQ(Probes("Cluster"), cluster);
  EXPECT_EQ(Probes("shop"), shop);
  EXPECT_EQ(h_.Condition("shop", "a", api::kAvailable), "False WebhookNotAvailable");

  h_.webhooks.unreachable.clear();
  h_.RollOutShard("shop");
  h_.RollOutCluster();
  ASSERT_TRUE(h_.Await([&] { return Probes("Cluster") > cluster && Probes("shop") > shop; }));
}

// The pods of the release before do not know probes: an upgrade that waits is no failure.
TEST_F(WebhookProberTest, WebhooksOfAnotherReleaseAreNotProbed) {
  h_.Pass(30s);
  h_.StopOperator();
  h_.webhooks.unreachable = {"Cluster", "shop"};
  int cluster = Probes("Cluster");
  int shop = Probes("shop");
  h_.StartOperator("2");
  h_.Pass(5min);
  EXPECT_EQ(Probes("Cluster"), cluster);
  EXPECT_EQ(Probes("shop"), shop);
  EXPECT_EQ(h_.Condition("shop", "a", api::kProgressing), "True UpgradeWaiting");
  EXPECT_EQ(h_.Condition("shop", "a", api::kAvailable), "True AsExpected");
  h_.RollOutCluster();
  ASSERT_TRUE(h_.Await([&] { return Probes("Cluster") > cluster; }));
}

TEST_F(WebhookProberTest, ANewOperatorDoesNotTakeBackWhatItHasNotProbed) {
  h_.webhooks.unreachable = {"Cluster", "shop"};
  ASSERT_TRUE(AwaitCluster("True WebhookUnreachable"));
  ASSERT_TRUE(AwaitShard(api::kAvailable, "False WebhookUnreachable"));
  h_.Pass(10s);
  h_.StopOperator();
  h_.StartOperator();
  h_.Pass(5min);
  EXPECT_EQ(h_.Events("OperandsDegraded", "cluster"), 1);
  EXPECT_EQ(h_.Events("OperandsRecovered", "cluster"), 0);
  EXPECT_EQ(h_.Events("ShardDegraded", "a"), 1);
  EXPECT_EQ(h_.Events("ShardRecovered", "a"), 0);
  h_.webhooks.unreachable.clear();
  EXPECT_TRUE(AwaitCluster("False AsExpected"));
  EXPECT_TRUE(AwaitShard(api::kAvailable, "True AsExpected"));
}

// A certificate that the CA bundle does not trust is replaced.
TEST_F(WebhookProberTest, TheCertificatesOfAnUnreachableWebhookAreChecked) {
  h_.Pass(30s);
  auto secret = h_.api.Get<kube::core::Secret>({"shop", std::string(api::kShardWebhookName)});
  auto of_cluster = h_.api.Get<kube::core::Secret>({"ops", std::string(api::kWebhookName)});
  ASSERT_TRUE(secret && of_cluster);
  std::string good = secret->data().at("tls.crt");
  for (auto* broken : {&*secret, &*of_cluster}) {
    (*broken->mutable_data())["tls.crt"] = "no certificate";
    h_.api.Update(*broken);
  }
  h_.Pass(5min);
  auto crt = [&](const kube::ObjectKey& key) {
    return h_.api.Get<kube::core::Secret>(key)->data().at("tls.crt");
  };
  EXPECT_EQ(crt({"shop", std::string(api::kShardWebhookName)}), "no certificate");
  h_.webhooks.unreachable = {"Cluster", "shop"};
  ASSERT_TRUE(AwaitCluster("True WebhookUnreachable"));
  ASSERT_TRUE(AwaitShard(api::kAvailable, "False WebhookUnreachable"));
  EXPECT_THAT(crt({"shop", std::string(api::kShardWebhookName)}), HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(crt({"ops", std::string(api::kWebhookName)}), HasSubstr("BEGIN CERTIFICATE"));
}

TEST_F(WebhookProberTest, PoliciesThatGatePodsNeedNoProbes) {
  h_.Pass(30s);
  h_.SetGating("Policy");
  ASSERT_TRUE(h_.Await([&] { return h_.WebhookRemoved("shop", api::kShardWebhookName); }));
  ASSERT_TRUE(h_.Await([&] { return h_.WebhookRemoved("ops", api::kWebhookName); }));
  h_.webhooks.unreachable = {"Cluster", "shop"};
  int cluster = Probes("Cluster");
  int shop = Probes("shop");
  h_.Pass(5min);
  EXPECT_EQ(Probes("Cluster"), cluster);
  EXPECT_EQ(Probes("shop"), shop);
  EXPECT_EQ(h_.ClusterCondition(kNotAvailable), "False GatedByPolicy");
}

TEST_F(WebhookProberTest, ARemovedShardIsNotProbed) {
  h_.Pass(30s);
  h_.DeleteConfig("shop", "a");
  h_.Pass(1s);
  int shop = Probes("shop");
  h_.Pass(5min);
  EXPECT_EQ(Probes("shop"), shop);
}

}  // namespace
}  // namespace operator_
