// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/own_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>

#include "api/names.h"
#include "kube/base/base64.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using kube::Json;
using kube::core::Secret;
using namespace std::chrono_literals;

const kube::ObjectKey kAuthority{"ops", "multiarch-tuning-operator-ca"};
const kube::ObjectKey kServing{"ops", std::string(api::kOperatorServiceName)};

// Replicas of the operator, and the two objects with the authorities that the API server trusts.
class OwnCertificateTest : public testing::Test {
 protected:
  OwnCertificateTest() {
    Refresh(a_);
    Refresh(b_);
    Publish(a_);
    clock_.Advance(60s);
  }

  void Refresh(OwnCertificate& replica) {
    EXPECT_THAT(kube::Run(io_, replica.Refresh()), kube::IsOk());
  }
  static std::string Served(const OwnCertificate& replica) {
    std::ifstream file(replica.certificate_file());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // As the leader does.
  void Publish(const OwnCertificate& leader) {
    std::string bundle = kube::Base64Encode(leader.ca_bundle_pem());
    Json validation = {{"metadata", {{"name", std::string(kValidatingWebhookConfigurationName)}}}};
    validation["kind"] = "ValidatingWebhookConfiguration";
    validation["webhooks"] =
        Json::array({{{"name", "a"}, {"clientConfig", {{"caBundle", bundle}}}},
                     {{"name", "b"}, {"clientConfig", {{"caBundle", bundle}}}}});
    Json crd = {{"kind", "CustomResourceDefinition"},
                {"metadata", {{"name", std::string(kConvertedCrdName)}}}};
    crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle;
    bool there = !published_.empty();
    there ? api_.UpdateJson(kube::kValidatingWebhookConfigurations, validation)
          : api_.CreateJson(kube::kValidatingWebhookConfigurations, validation);
    there ? api_.UpdateJson(kube::kCustomResourceDefinitions, crd)
          : api_.CreateJson(kube::kCustomResourceDefinitions, crd);
    published_ = leader.ca_bundle_pem();
  }
  // True if the API server takes what the replica serves.
  bool Trusted(const OwnCertificate& replica) {
    std::string served = Served(replica);
    for (std::string rest = published_; !rest.empty();) {
      if (kube::SignedBy(served, rest)) return true;
      size_t next = rest.find("-----BEGIN", 1);
      rest = next == std::string::npos ? "" : rest.substr(next);
    }
    return false;
  }
  // Both replicas refresh the certificate at their intervals, and the leader publishes. Checks at
  // each step that the served certificate is trusted. `a_` leads.
  void Settle() {
    for (int minute = 0; minute < 3; ++minute) {
      for (OwnCertificate* replica : {&b_, &a_}) {
        Refresh(*replica);
        EXPECT_TRUE(Trusted(a_)) << "minute " << minute;
        EXPECT_TRUE(Trusted(b_)) << "minute " << minute;
      }
      Publish(a_);
      EXPECT_TRUE(Trusted(a_)) << "minute " << minute;
      EXPECT_TRUE(Trusted(b_)) << "minute " << minute;
      clock_.Advance(60s);
    }
  }
  std::string Authority() { return api_.Get<Secret>(kAuthority)->data().at("tls.crt"); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  OwnCertificate a_{api_, clock_, "ops", testing::TempDir() + "/own-a"};
  OwnCertificate b_{api_, clock_, "ops", testing::TempDir() + "/own-b"};
  std::string published_;
};

TEST_F(OwnCertificateTest, ReplicasServeOneCertificate) {
  EXPECT_EQ(Served(a_), Served(b_));
  EXPECT_TRUE(Trusted(a_));
}

TEST_F(OwnCertificateTest, ALostAuthorityIsTrustedBeforeItsSuccessorServes) {
  std::string before = Served(a_);
  api_.Delete<Secret>(kAuthority);
  Settle();
  EXPECT_NE(Served(a_), before);
  EXPECT_EQ(Served(a_), Served(b_));
  EXPECT_TRUE(kube::SignedBy(Served(a_), Authority()));
}

TEST_F(OwnCertificateTest,
       AnAuthorityThatIsLostWithItsCertificateIsTrustedBeforeItsSuccessorServes) {
  std::string before = Served(a_);
  api_.Delete<Secret>(kAuthority);
  api_.Delete<Secret>(kServing);
  Settle();
  EXPECT_NE(Served(a_), before);
  EXPECT_TRUE(kube::SignedBy(Served(a_), Authority()));
  EXPECT_TRUE(kube::SignedBy(Served(b_), Authority()));
}

TEST_F(OwnCertificateTest, ARenewedAuthorityIsTrustedBeforeItServes) {
  clock_.Advance(kAuthorityValidity - kAuthorityRenewal - 24h);
  Settle();
  std::string before = Authority();
  clock_.Advance(48h);
  Settle();
  EXPECT_NE(Authority(), before);
  EXPECT_TRUE(kube::SignedBy(Served(a_), Authority()));
}

// One that starts while the API server does not trust the new authority yet.
TEST_F(OwnCertificateTest, ANewReplicaServesATrustedCertificate) {
  api_.Delete<Secret>(kAuthority);
  api_.Delete<Secret>(kServing);
  Refresh(b_);
  OwnCertificate fresh(api_, clock_, "ops", testing::TempDir() + "/own-fresh");
  Refresh(fresh);
  EXPECT_TRUE(Trusted(fresh));
}

TEST_F(OwnCertificateTest, ALostCertificateIsIssuedAtOnceByItsAuthority) {
  std::string before = Served(a_);
  api_.Delete<Secret>(kServing);
  Refresh(a_);
  EXPECT_NE(Served(a_), before);
  EXPECT_TRUE(Trusted(a_));
}

// The shortest validity: it would pass between two refreshes at intervals of 20 s.
TEST_F(OwnCertificateTest, AShortValidityIsLookedAtMoreOften) {
  OwnCertificate brief(api_, clock_, "ops", testing::TempDir() + "/own-brief", 60s);
  api_.Delete<Secret>(kServing);
  Refresh(brief);
  kube::TaskGroup tasks(io_.get_executor());
  tasks.Spawn("certificate", brief.Run());
  kube::Drain(io_);
  for (int second = 0; second < 300; ++second) {
    clock_.Advance(1s);
    kube::Drain(io_);
    ASSERT_GT(*kube::NotAfter(Served(brief)), clock_.WallNow() + 10s) << second;
  }
  EXPECT_THAT(kube::Run(io_, tasks.Stop(kube::RealClock(), 1s)), kube::IsOk());
}

}  // namespace
}  // namespace operator_
