// SPDX-License-Identifier: Apache-2.0
// The certificates of a namespace's webhook, by the whole operator.
#include <gtest/gtest.h>

#include <string>

#include "api/names.h"
#include "kube/base/base64.h"
#include "kube/crypto/certificates.h"
#include "operator/shard_reconciler.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using namespace std::chrono_literals;

const kube::ObjectKey kWebhook{"shop", std::string(api::kShardWebhookName)};

class ShardCertificatesTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }

  Harness h_;
};

// While the webhook serves the old certificate and when it serves the new one, the API server
// trusts it.
TEST_F(ShardCertificatesTest, ALostAuthorityIsReplacedWithoutAGapInTrust) {
  ASSERT_TRUE(h_.BringUp("shop"));
  auto certificate = [&] { return h_.api.Get<kube::core::Secret>(kWebhook)->data().at("tls.crt"); };
  auto trusted = [&] {
    std::string bundle =
        kube::StringAt((*h_.WebhookConfiguration("shop"))["webhooks"][0], "clientConfig.caBundle");
    std::string rest = *kube::Base64Decode(bundle);
    while (!rest.empty()) {
      if (kube::SignedBy(certificate(), rest)) return true;
      size_t next = rest.find("-----BEGIN", 1);
      rest = next == std::string::npos ? "" : rest.substr(next);
    }
    return false;
  };
  std::string before = certificate();
  h_.api.Delete<kube::core::Secret>({"ops", "pod-placement-shard-ca-shop"});
  // A restarted operator checks at once.
  h_.StopOperator();
  h_.StartOperator();
  for (int second = 0; second < 60; ++second) {
    EXPECT_TRUE(trusted()) << second;
    h_.Pass(1s);
  }
  EXPECT_NE(certificate(), before);
}

// docs/runbooks/PodPlacementCertificateExpiring.md: the Secrets are not watched.
TEST_F(ShardCertificatesTest, ANewOperatorChecksTheCertificatesSoon) {
  const kube::ObjectKey of_cluster{"ops", std::string(api::kWebhookName)};
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.StopOperator();
  h_.api.Delete<kube::core::Secret>(kWebhook);
  h_.api.Delete<kube::core::Secret>(of_cluster);
  h_.StartOperator();
  h_.Pass(kFirstCheck);
  EXPECT_TRUE(h_.SecretExists(kWebhook));
  EXPECT_TRUE(h_.SecretExists(of_cluster));
}

TEST_F(ShardCertificatesTest, AnOperatorThatRunsChecksTheCertificatesEveryHour) {
  const kube::ObjectKey of_cluster{"ops", std::string(api::kWebhookName)};
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.RollOutCluster();
  h_.Pass(1min);
  h_.api.Delete<kube::core::Secret>(kWebhook);
  h_.api.Delete<kube::core::Secret>(of_cluster);
  h_.Pass(1h);
  EXPECT_TRUE(h_.SecretExists(kWebhook));
  EXPECT_TRUE(h_.SecretExists(of_cluster));
}

}  // namespace
}  // namespace operator_
