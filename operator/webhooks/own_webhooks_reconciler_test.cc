// SPDX-License-Identifier: Apache-2.0
#include "operator/webhooks/own_webhooks_reconciler.h"

#include <gtest/gtest.h>

#include "kube/types/kinds.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/teardown/late_pods.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::Json;
using namespace std::chrono_literals;

const kube::ObjectKey kValidation{"", std::string(kValidatingWebhookConfigurationName)};
const kube::ObjectKey kCrd{"", std::string(kConvertedCrdName)};

class OwnWebhooksReconcilerTest : public testing::Test {
 protected:
  OwnWebhooksReconcilerTest() {
    h_.StartOperator();
    EXPECT_TRUE(h_.Await([&] {
      return h_.Exists(kube::kValidatingWebhookConfigurations, kValidation) && Converts();
    }));
    h_.Pass(5s);
  }
  bool Converts() {
    return kube::StringAt(*h_.api.GetJson(kube::kCustomResourceDefinitions, kCrd),
                          "spec.conversion.strategy") == "Webhook";
  }

  Harness h_;
};

TEST_F(OwnWebhooksReconcilerTest, ADeletedObjectIsCreatedAgainWithinASecond) {
  h_.api.DeleteJson(kube::kValidatingWebhookConfigurations, kValidation);
  h_.Pass(1s);
  EXPECT_TRUE(h_.Exists(kube::kValidatingWebhookConfigurations, kValidation));
}

TEST_F(OwnWebhooksReconcilerTest, AChangedObjectIsMendedWithinASecond) {
  Json validation = *h_.api.GetJson(kube::kValidatingWebhookConfigurations, kValidation);
  validation["webhooks"] = Json::array();
  h_.api.UpdateJson(kube::kValidatingWebhookConfigurations, validation);
  // As an apply of the CRD's manifest does.
  Json crd = *h_.api.GetJson(kube::kCustomResourceDefinitions, kCrd);
  crd["spec"]["conversion"] = {{"strategy", "None"}};
  h_.api.UpdateJson(kube::kCustomResourceDefinitions, crd);
  h_.Pass(1s);
  EXPECT_FALSE(
      (*h_.api.GetJson(kube::kValidatingWebhookConfigurations, kValidation))["webhooks"].empty());
  EXPECT_TRUE(Converts());
}

TEST_F(OwnWebhooksReconcilerTest, ANewBundleIsPublishedAtOnce) {
  auto bundle = [this] {
    Json validation = *h_.api.GetJson(kube::kValidatingWebhookConfigurations, kValidation);
    return kube::StringAt(validation["webhooks"][0], "clientConfig.caBundle");
  };
  EXPECT_EQ(bundle(), "");
  h_.RefreshCertificate();
  h_.Pass(200ms);
  EXPECT_NE(bundle(), "");
}

TEST_F(OwnWebhooksReconcilerTest, UnchangedObjectsCostNoCall) {
  // Without a config, a new leader looks for gated pods until then.
  h_.Pass(kStoredLate);
  int calls = h_.api.CountCalls("");
  h_.Pass(60s);
  EXPECT_EQ(h_.api.CountCalls(""), calls);
}

}  // namespace
}  // namespace operator_
