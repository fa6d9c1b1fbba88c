// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/operator/warning_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "ephemeral-containers/names.h"
#include "kube/base/error.h"
#include "kube/crypto/secret_token.h"
#include "kube/types/core.pb.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::core::Secret;
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
  std::string Path() {
    return (*Configuration())["webhooks"][0]["clientConfig"]["service"].value("path", "");
  }
  Secret OfWebhook() { return *h_.api.Get<Secret>(kKey); }
  std::string PathOfSecret() {
    return ephemeral::PathOf(OfWebhook().data().at(std::string(ephemeral::kPathKey)));
  }
  // An admin changed the Secret, and a reconcile sees it.
  void AwaitCheck() {
    h_.Pass(61s);
    verbosity_ = verbosity_ == "Debug" ? "Trace" : "Debug";
    h_.SetLogVerbosity(verbosity_);
    h_.Pass(1s);
  }
  std::string Condition() { return h_.ClusterCondition(kEphemeralContainerWarningsAvailable); }
  bool Removed() {
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kPodDisruptionBudgets,
          kube::kNetworkPolicies}) {
      if (h_.Exists(resource, kKey)) return false;
    }
    return !Configuration() && !h_.SecretExists(kKey);
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
  std::string verbosity_;
};

TEST_F(WarningFeatureTest, OffByDefault) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.Pass(20s);
  EXPECT_TRUE(Removed());
  EXPECT_EQ(h_.api.CountCalls(kConfiguration.name), 0);
  EXPECT_EQ(h_.api.CountCalls(kKey.name), 0);
}

// Only the image of the operator is new.
TEST_F(WarningFeatureTest, AnOldClusterRoleStopsNothingElse) {
  h_.api.FailNext(kube::Error::PermissionDenied("403"), kConfiguration.name, 1'000'000);
  h_.api.FailNext(kube::Error::PermissionDenied("may not patch"), kKey.name, 1'000'000);
  ASSERT_TRUE(h_.BringUpCluster());
  EXPECT_EQ(Condition(), "none");
  SetPlugin(true);
  EXPECT_TRUE(h_.Await([&] { return Condition().starts_with("False"); }));
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  EXPECT_TRUE(h_.Await([&] { return !h_.Exists(Harness::kClusterConfigs, {"", "cluster"}); }));
}

// The Role of the operator's namespace, and the webhook's rights, are new as well.
TEST_F(WarningFeatureTest, AConfigurationThatCannotBeWatchedIsReported) {
  h_.api.FailNext(kube::Error::PermissionDenied("403"), kConfiguration.name, 25);
  ASSERT_TRUE(h_.BringUpCluster());
  SetPlugin(true);
  ASSERT_TRUE(h_.Await([&] { return Deployed(); }));
  h_.RollOut("ops", ephemeral::kWebhookName);
  h_.Pass(60s);
  EXPECT_EQ(Condition(), "none");
  h_.Pass(75s);
  EXPECT_EQ(Condition(), "False ConfigurationNotWatched");
  EXPECT_THAT(h_.ClusterMessage(kEphemeralContainerWarningsAvailable),
              testing::HasSubstr(kConfiguration.name));
  EXPECT_FALSE(Configuration());
  // The admin applies the rest.
  for (int i = 0; i < 20 && !Configuration(); ++i) h_.Pass(60s);
  EXPECT_TRUE(Configuration());
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none"; }));
}

TEST_F(WarningFeatureTest, TheApiServerCallsTheWebhookOnceItRuns) {
  ASSERT_TRUE(h_.BringUpCluster());
  SetPlugin(true);
  ASSERT_TRUE(h_.Await([&] { return Deployed(); }));
  EXPECT_TRUE(h_.Exists(kube::kServiceAccounts, kKey));
  EXPECT_TRUE(h_.Exists(kube::kPodDisruptionBudgets, kKey));
  EXPECT_TRUE(h_.SecretExists(kKey));
  h_.Pass(20s);
  EXPECT_FALSE(Configuration());
  h_.RollOut("ops", ephemeral::kWebhookName);
  ASSERT_TRUE(h_.Await([&] { return Configuration().has_value(); }));
  EXPECT_NE((*Configuration())["webhooks"][0]["clientConfig"].value("caBundle", ""), "");
}

TEST_F(WarningFeatureTest, ThePathIsSecretAndStaysWhenTheCertificateIsRenewed) {
  ASSERT_TRUE(BringUp());
  const std::string path = Path();
  EXPECT_EQ(path, PathOfSecret());
  EXPECT_TRUE(kube::IsSecretToken(path.substr(ephemeral::PathOf("").size()))) << path;
  // As after an upgrade that changes the names of the certificate.
  Secret secret = OfWebhook();
  const std::string key = secret.data().at("tls.key");
  secret.mutable_data()->erase("tls.crt");
  secret.mutable_data()->erase("tls.key");
  h_.api.Update(secret);
  AwaitCheck();
  ASSERT_TRUE(OfWebhook().data().contains("tls.key"));
  EXPECT_NE(OfWebhook().data().at("tls.key"), key);
  EXPECT_EQ(PathOfSecret(), path);
  EXPECT_EQ(Path(), path);
  h_.StopOperator();
  h_.StartOperator();
  h_.Pass(30s);
  EXPECT_EQ(Path(), path);
}

// The webhook follows the Secret at once, so the API server must get the path with it.
TEST_F(WarningFeatureTest, ALostTokenIsReplacedTogetherWithThePath) {
  ASSERT_TRUE(BringUp());
  const std::string first = Path();
  Secret secret = OfWebhook();
  const std::string certificate = secret.data().at("tls.crt");
  secret.mutable_data()->erase(std::string(ephemeral::kPathKey));
  h_.api.Update(secret);
  AwaitCheck();
  ASSERT_TRUE(OfWebhook().data().contains(std::string(ephemeral::kPathKey)));
  const std::string second = Path();
  EXPECT_NE(second, first);
  EXPECT_EQ(second, PathOfSecret());
  EXPECT_EQ(OfWebhook().data().at("tls.crt"), certificate);

  h_.api.Delete<Secret>(kKey);
  AwaitCheck();
  ASSERT_TRUE(h_.SecretExists(kKey));
  EXPECT_NE(Path(), second);
  EXPECT_EQ(Path(), PathOfSecret());
}

TEST_F(WarningFeatureTest, AWebhookThatDoesNotRunIsReportedAndNotCalled) {
  ASSERT_TRUE(BringUp());
  EXPECT_EQ(Condition(), "none");
  h_.RollOut("ops", ephemeral::kWebhookName, /*runs=*/false);
  h_.Pass(60s);
  EXPECT_EQ(Condition(), "none");
  EXPECT_TRUE(Configuration());
  h_.Pass(90s);
  EXPECT_EQ(Condition(), "False NoReplicaAvailable");
  EXPECT_FALSE(Configuration());
  h_.RollOut("ops", ephemeral::kWebhookName);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none" && Configuration(); }));
  h_.ExceedQuota("ops", ephemeral::kWebhookName);
  h_.Pass(150s);
  EXPECT_TRUE(Condition().starts_with("False QuotaExceeded")) << Condition();
  SetPlugin(false);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none" && Removed(); }));
}

// A quota, or another webhook.
TEST_F(WarningFeatureTest, WithoutAServiceAccountNothingIsCreatedThatWouldBeLeft) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.FailNext(kube::Error::PermissionDenied("exceeded quota"), "serviceaccounts/" + kKey.name,
                  1'000'000);
  SetPlugin(true);
  h_.Pass(30s);
  EXPECT_FALSE(h_.SecretExists(kKey));
  SetPlugin(false);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none" && Removed(); }));
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
  EXPECT_TRUE(h_.Await([&] { return Deployed(); }));
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
