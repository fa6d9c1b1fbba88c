// SPDX-License-Identifier: Apache-2.0
// Certificates of a provider: the served certificate is always trusted, whatever the provider does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "kube/base/base64.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "operator/certificates/certificates.h"

namespace operator_ {
namespace {

using kube::KeyPair;
using kube::ObjectKey;
using kube::core::Secret;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const ObjectKey kAuthority{"ops", "pod-placement-ca"};
const ObjectKey kServing{"ops", "web-hook"};
const std::string kName = "web-hook.ops.svc";

// A webhook whose pods get a new certificate two minutes late, and a reconciler that publishes the
// authorities each time that it has read the certificate.
class ProvidedCertificatesTest : public testing::Test {
 protected:
  ProvidedCertificatesTest() { Settle(); }

  Provided Issue(const KeyPair& authority, std::chrono::seconds validity = 24h) {
    return {*kube::NewServingCertificate(authority, {kName, kName + ".cluster.local"}, validity,
                                         clock_),
            authority.certificate_pem};
  }
  KeyPair NewAuthority() { return *kube::NewCertificateAuthority("corporate", 1000h, clock_); }

  IssuedCertificate Look() {
    CertificateRequest request{.authority = kAuthority,
                               .serving = kServing,
                               .dns_names = {kName, "web-hook"},
                               .labels = {},
                               .bundles = {{kube::kMutatingWebhookConfigurations, "of-webhook"}},
                               .publish_authorities = true,
                               .by_provider = by_provider_,
                               .provided = provided_};
    auto issued = kube::Run(io_, EnsureCertificate(api_, clock_, std::move(request)));
    EXPECT_THAT(issued, kube::IsOk());
    return issued ? *issued : IssuedCertificate();
  }
  void Publish(const std::string& bundle_pem) {
    trusted_ = bundle_pem;
    kube::Json webhook = {{"name", "w"},
                          {"clientConfig", {{"caBundle", kube::Base64Encode(bundle_pem)}}}};
    kube::Json configuration = {{"kind", "MutatingWebhookConfiguration"},
                                {"metadata", {{"name", "of-webhook"}}}};
    configuration["webhooks"] = kube::Json::array({std::move(webhook)});
    bool there = api_.GetJson(kube::kMutatingWebhookConfigurations, {"", "of-webhook"}).has_value();
    there ? api_.UpdateJson(kube::kMutatingWebhookConfigurations, configuration)
          : api_.CreateJson(kube::kMutatingWebhookConfigurations, configuration);
  }
  std::string Data(const char* key) { return api_.Get<Secret>(kServing)->data().at(key); }
  std::string Served() { return Data("tls.crt"); }

  // Five minutes, in which all that pods may serve is trusted.
  IssuedCertificate Settle() {
    IssuedCertificate last;
    for (int i = 0; i < 30; ++i) {
      last = Look();
      pods_serve_.push_back(Served());
      if (pods_serve_.size() > 12) pods_serve_.pop_front();
      for (const std::string& before : {trusted_, last.ca_bundle_pem}) {
        if (before.empty()) continue;
        for (const std::string& pem : std::set(pods_serve_.begin(), pods_serve_.end()))
          EXPECT_TRUE(kube::IsTrusted(pem, before, kName, clock_.WallNow())) << i;
      }
      Publish(last.ca_bundle_pem);
      clock_.Advance(10s);
    }
    return last;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  bool by_provider_ = false;
  std::optional<Provided> provided_;
  std::string trusted_;
  std::deque<std::string> pods_serve_;
};

TEST_F(ProvidedCertificatesTest, OwnCertificatesAreUsedUntilTheProviderHasIssuedOne) {
  std::string own = Served();
  by_provider_ = true;
  EXPECT_FALSE(Settle().provided);
  EXPECT_EQ(Served(), own);
  provided_ = Issue(NewAuthority());
  EXPECT_TRUE(Settle().provided);
  EXPECT_EQ(Served(), provided_->serving.certificate_pem);
  EXPECT_EQ(Data("tls.key"), provided_->serving.private_key_pem);
  EXPECT_THAT(Data("ca.crt"), HasSubstr(provided_->authorities_pem));
}

TEST_F(ProvidedCertificatesTest, AProviderMayChangeItsAuthorityAndGoAway) {
  by_provider_ = true;
  provided_ = Issue(NewAuthority());
  Settle();
  provided_ = Issue(NewAuthority());
  Settle();
  std::string last = provided_->serving.certificate_pem;
  EXPECT_EQ(Served(), last);
  // Its Secret is deleted: the copy stays in use while it is valid.
  provided_.reset();
  Settle();
  EXPECT_EQ(Served(), last);
  clock_.Advance(23h);
  Settle();
  EXPECT_EQ(Served(), last);
  clock_.Advance(40min);
  EXPECT_FALSE(Settle().provided);
  EXPECT_NE(Served(), last);
}

TEST_F(ProvidedCertificatesTest, AnAbandonedProviderIsTrustedForAnHour) {
  by_provider_ = true;
  provided_ = Issue(NewAuthority());
  std::string authority = provided_->authorities_pem;
  Settle();
  by_provider_ = false;
  provided_.reset();
  Settle();
  EXPECT_TRUE(kube::SignedBy(Served(), api_.Get<Secret>(kAuthority)->data().at("tls.crt")));
  EXPECT_THAT(trusted_, HasSubstr(authority));
  clock_.Advance(1h);
  Settle();
  EXPECT_THAT(trusted_, Not(HasSubstr(authority)));
  EXPECT_EQ(Data("ca.crt"), trusted_);
}

TEST_F(ProvidedCertificatesTest, ARestlessProviderDoesNotFillTheBundle) {
  by_provider_ = true;
  for (int i = 0; i < 40; ++i) {
    provided_ = Issue(NewAuthority());
    Publish(Look().ca_bundle_pem);
    clock_.Advance(11s);
    Publish(Look().ca_bundle_pem);
    clock_.Advance(11s);
  }
  EXPECT_LE(kube::CertificatesIn(trusted_).size(), 16u);
  clock_.Advance(1h);
  provided_ = Issue(NewAuthority());
  pods_serve_.clear();
  EXPECT_TRUE(Settle().provided);
}

TEST_F(ProvidedCertificatesTest, AtRestNothingIsWritten) {
  by_provider_ = true;
  provided_ = Issue(NewAuthority());
  Settle();
  clock_.Advance(2h);
  Settle();
  int writes = api_.CountCalls("PUT") + api_.CountCalls("POST");
  Settle();
  EXPECT_EQ(api_.CountCalls("PUT") + api_.CountCalls("POST"), writes);
}

}  // namespace
}  // namespace operator_
