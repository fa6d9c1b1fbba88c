// SPDX-License-Identifier: Apache-2.0
// The operator's own webhooks: no write fails because of their certificate, a deleted webhook
// configuration is restored, and `helm test` finds that they answer.
#include <string>
#include <utility>

#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"
#include "operator/self_test/self_test.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Result;

constexpr char kConfiguration[] = "multiarch-tuning-operator-validating-webhook-configuration";
constexpr char kAuthority[] = "multiarch-tuning-operator-ca";

class OperatorWebhooksFlow : public FlowFixture {
 protected:
  // The certificate in the operator's Secret, which it serves within a moment.
  std::string Certificate() {
    kube::ObjectKey key{cluster().operator_namespace(), std::string(api::kOperatorServiceName)};
    auto secret = cluster().Run(kube::GetObject(cluster().client(), kSecrets, key));
    EXPECT_TRUE(secret) << secret.error();
    return secret ? kube::Find(secret->body(), "data")->value("tls.crt", "") : "";
  }
};

TEST_F(OperatorWebhooksFlow, ADeletedConfigurationIsRestoredInSeconds) {
  Flow(scene(), "the validating configuration is deleted")
      .Await(Exists(kValidatingWebhookConfigurations, kConfiguration))
      .Do(Delete(kValidatingWebhookConfigurations, kConfiguration))
      .Await(Exists(kValidatingWebhookConfigurations, kConfiguration), 5s)
      .Do(Create(MakeConfig("a").Priority(1).Prefer("arm64", 10)))
      .Await({.name = "a config with the priority of another is refused",
              .holds = [](Scene& scene) -> Result<> {
                auto created =
                    scene.Create(kConfigs, MakeConfig("b").Priority(1).Prefer("arm64", 10).Build());
                if (!created) return kube::Ok();
                kube::IgnoreError(scene.Delete(kConfigs, "b"), "the next attempt fails with it");
                return kube::Error::Unavailable("it was accepted");
              }});
}

TEST_F(OperatorWebhooksFlow, TheSelfTestOfHelmPasses) {
  operator_::SelfTestOptions options{
      .ns = cluster().operator_namespace(),
      .crd_versions = {"clusterpodplacementconfigs.multiarch.openshift.io/v1alpha1",
                       "clusterpodplacementconfigs.multiarch.openshift.io/v1beta1",
                       "podplacementconfigs.multiarch.openshift.io/v1beta1"}};
  kube::TimePoint deadline = cluster().clock().Now() + 10s;
  Result<> passed = cluster().Run(
      operator_::SelfTest(cluster().client(), cluster().clock(), std::move(options), deadline));
  EXPECT_TRUE(passed) << passed.error();
}

TEST_F(OperatorWebhooksFlow, NoWriteIsRefusedWhileTheAuthorityChanges) {
  std::string before = Certificate();
  kube::ObjectKey authority{cluster().operator_namespace(), kAuthority};
  Result<> deleted = cluster().Run(kube::DeleteObject(cluster().client(), kSecrets, authority));
  ASSERT_TRUE(deleted) << deleted.error();

  // Continues for some time after the new certificate exists, until it is served.
  kube::TimePoint end = cluster().clock().Now() + 120s;
  bool changed = false;
  int writes = 0;
  while (cluster().clock().Now() < end) {
    Result<Json> created = scene().Create(kConfigs, MakeConfig("a").Prefer("arm64", 10).Build());
    ASSERT_TRUE(created) << created.error() << " after " << writes << " writes";
    ++writes;
    Result<> deleted = scene().Delete(kConfigs, "a");
    ASSERT_TRUE(deleted) << deleted.error();
    if (!changed && Certificate() != before) {
      changed = true;
      end = cluster().clock().Now() + 10s;
    }
    cluster().Pause(200ms);
  }
  EXPECT_TRUE(changed) << "no new certificate";
}

}  // namespace
}  // namespace e2e
