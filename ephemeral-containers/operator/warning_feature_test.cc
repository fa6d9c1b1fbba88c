// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/operator/warning_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "ephemeral-containers/names.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::Json;
using kube::ObjectKey;
using namespace std::chrono_literals;

class WarningFeatureTest : public testing::Test {
 protected:
  WarningFeatureTest() {
    h_.features.push_back(NewWarningFeature());
    h_.StartOperator();
  }
  ~WarningFeatureTest() override { h_.StopOperator(); }

  void SetPlugin(bool enabled) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"]["plugins"]["ephemeralContainerWarnings"] = {{"enabled", enabled}};
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  }
  bool Deployed() { return h_.Exists(kube::kDeployments, kKey); }
  std::optional<Json> Configuration() {
    return h_.api.GetJson(kube::kValidatingWebhookConfigurations, kConfiguration);
  }
  bool Bound() { return h_.Exists(kube::kClusterRoleBindings, {"", kKey.name}); }
  bool Removed() {
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kPodDisruptionBudgets,
          kube::kNetworkPolicies}) {
      if (h_.Exists(resource, kKey)) return false;
    }
    return !Configuration() && !Bound() && !h_.SecretExists(kKey);
  }
  bool BringUp() {
    if (!h_.BringUpCluster()) return false;
    SetPlugin(true);
    if (!h_.Await([&] { return Deployed(); })) return false;
    h_.RollOut("ops", ephemeral::kWebhookName);
    return h_.Await([&] { return Configuration().has_value(); });
  }

  const ObjectKey kKey{"ops", std::string(ephemeral::kWebhookName)};
  const ObjectKey kConfiguration{"", std::string(ephemeral::kWebhookConfigurationName)};
  Harness h_;
};

TEST_F(WarningFeatureTest, OffByDefault) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.Pass(20s);
  EXPECT_TRUE(Removed());
  EXPECT_EQ(h_.CallIndex("clusterrolebindings/" + kKey.name), -1);
}

TEST_F(WarningFeatureTest, TheApiServerCallsTheWebhookOnceItRuns) {
  ASSERT_TRUE(h_.BringUpCluster());
  SetPlugin(true);
  ASSERT_TRUE(h_.Await([&] { return Deployed(); }));
  EXPECT_TRUE(h_.Exists(kube::kServiceAccounts, kKey));
  EXPECT_TRUE(h_.Exists(kube::kPodDisruptionBudgets, kKey));
  EXPECT_TRUE(h_.SecretExists(kKey));
  EXPECT_TRUE(Bound());
  h_.Pass(20s);
  EXPECT_FALSE(Configuration());
  h_.RollOut("ops", ephemeral::kWebhookName);
  ASSERT_TRUE(h_.Await([&] { return Configuration().has_value(); }));
  EXPECT_NE((*Configuration())["webhooks"][0]["clientConfig"].value("caBundle", ""), "");
}

TEST_F(WarningFeatureTest, AtRestItCostsNothing) {
  ASSERT_TRUE(BringUp());
  h_.Pass(30s);
  int calls = h_.api.CountCalls("ephemeral-containers");
  h_.Pass(120s);
  EXPECT_EQ(h_.api.CountCalls("ephemeral-containers"), calls);
}

TEST_F(WarningFeatureTest, WhatOthersChangeIsRestored) {
  ASSERT_TRUE(BringUp());
  h_.Pass(15s);
  h_.api.DeleteJson(kube::kValidatingWebhookConfigurations, kConfiguration);
  EXPECT_TRUE(h_.Await([&] { return Configuration().has_value(); }));
  h_.api.DeleteJson(kube::kServices, kKey);
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kServices, kKey); }));
}

TEST_F(WarningFeatureTest, WithoutThePluginNothingIsLeftAndTheConfigurationGoesFirst) {
  ASSERT_TRUE(BringUp());
  SetPlugin(false);
  ASSERT_TRUE(h_.Await([&] { return !Configuration(); }));
  EXPECT_TRUE(Deployed());
  ASSERT_TRUE(h_.Await([&] { return Removed(); }));
  int configuration = h_.CallIndex(
      "DELETE /apis/admissionregistration.k8s.io/v1/"
      "validatingwebhookconfigurations/" +
      kConfiguration.name);
  int deployment = h_.CallIndex("DELETE /apis/apps/v1/namespaces/ops/deployments/" + kKey.name);
  EXPECT_GE(configuration, 0);
  EXPECT_LT(configuration, deployment);
  // And back.
  SetPlugin(true);
  EXPECT_TRUE(h_.Await([&] { return Deployed() && Bound(); }));
}

TEST_F(WarningFeatureTest, TheDeletionOfTheConfigWaitsForTheRemoval) {
  ASSERT_TRUE(BringUp());
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(h_.Await([&] { return !h_.Exists(Harness::kClusterConfigs, {"", "cluster"}); }));
  EXPECT_TRUE(Removed());
  EXPECT_TRUE(h_.ClusterRemoved());
}

// A crash between two steps of the removal.
TEST_F(WarningFeatureTest, ANewLeaderContinuesTheRemoval) {
  ASSERT_TRUE(BringUp());
  SetPlugin(false);
  ASSERT_TRUE(h_.Await([&] { return !Configuration(); }));
  h_.StopOperator();
  ASSERT_FALSE(Removed());
  h_.StartOperator();
  EXPECT_TRUE(h_.Await([&] { return Removed(); }));
}

}  // namespace
}  // namespace operator_
