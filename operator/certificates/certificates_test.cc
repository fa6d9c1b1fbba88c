// SPDX-License-Identifier: Apache-2.0
#include "operator/certificates/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base/base64.h"
#include "kube/crypto/secret_token.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::KeyPair;
using kube::ObjectKey;
using kube::Result;
using kube::core::Secret;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const ObjectKey kAuthority{"ops", "pod-placement-shard-ca-shop"};
const ObjectKey kServing{"shop", "web-hook"};

class CertificatesTest : public testing::Test {
 protected:
  CertificateRequest Request() {
    return {.authority = kAuthority,
            .serving = kServing,
            .dns_names = {"web-hook.shop.svc"},
            .labels = {{"a", "b"}},
            .serving_owner = owner_,
            .bundles = {{kube::kMutatingWebhookConfigurations, "of-shop"}},
            .publish_authorities = publish_,
            .token_key = token_key_};
  }
  IssuedCertificate Ensure() {
    Result<IssuedCertificate> issued = kube::Run(io_, EnsureCertificate(api_, clock_, Request()));
    EXPECT_THAT(issued, kube::IsOk());
    return issued ? *issued : IssuedCertificate();
  }
  std::string Data(const ObjectKey& key, const char* name) {
    std::optional<Secret> secret = api_.Get<Secret>(key);
    if (!secret) return "no secret";
    auto found = secret->data().find(name);
    return found == secret->data().end() ? "none" : found->second;
  }

  // Makes the API server trust `bundle_pem`.
  void Configure(const std::string& bundle_pem) {
    kube::Json webhook = {{"name", "w"},
                          {"clientConfig", {{"caBundle", kube::Base64Encode(bundle_pem)}}}};
    kube::Json configuration = {{"kind", "MutatingWebhookConfiguration"},
                                {"metadata", {{"name", "of-shop"}}}};
    configuration["webhooks"] = kube::Json::array({std::move(webhook)});
    bool there = api_.GetJson(kube::kMutatingWebhookConfigurations, {"", "of-shop"}).has_value();
    there ? api_.UpdateJson(kube::kMutatingWebhookConfigurations, configuration)
          : api_.CreateJson(kube::kMutatingWebhookConfigurations, configuration);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  std::optional<kube::meta::OwnerReference> owner_;
  bool publish_ = false;
  std::string token_key_;
};

TEST_F(CertificatesTest, OnlyTheServingCertificateHasAnOwner) {
  owner_.emplace().set_uid("of-the-namespace");
  Ensure();
  ASSERT_EQ(api_.Get<Secret>(kServing)->metadata().owner_references_size(), 1);
  EXPECT_EQ(api_.Get<Secret>(kServing)->metadata().owner_references(0).uid(), "of-the-namespace");
  EXPECT_TRUE(api_.Get<Secret>(kAuthority)->metadata().owner_references().empty());
}

TEST_F(CertificatesTest, IssuesAnAuthorityAndACertificateThatItSigned) {
  IssuedCertificate issued = Ensure();
  std::string certificate = Data(kServing, "tls.crt");
  EXPECT_TRUE(kube::SignedBy(certificate, issued.ca_bundle_pem));
  EXPECT_EQ(issued.serving.certificate_pem, certificate);
  EXPECT_TRUE(IsPair(KeyPair{certificate, Data(kServing, "tls.key")}));
  EXPECT_THAT(*kube::DnsNames(certificate), ElementsAre("web-hook.shop.svc"));
  EXPECT_EQ(api_.Get<Secret>(kServing)->type(), "kubernetes.io/tls");
  EXPECT_EQ(api_.Get<Secret>(kServing)->metadata().labels().at("a"), "b");
  EXPECT_TRUE(api_.Get<Secret>(kServing)->metadata().owner_references().empty());
}

// I6
TEST_F(CertificatesTest, TheAuthoritysKeyStaysInTheOperatorsNamespace) {
  Ensure();
  std::string key = Data(kAuthority, "tls.key");
  Secret serving = *api_.Get<Secret>(kServing);
  EXPECT_FALSE(serving.data().empty());
  for (auto& [name, value] : serving.data()) EXPECT_THAT(value, Not(HasSubstr(key))) << name;
}

TEST_F(CertificatesTest, ValidSecretsAreNotWritten) {
  IssuedCertificate first = Ensure();
  clock_.Advance(59 * 24h);
  int writes = api_.CountCalls("PUT") + api_.CountCalls("POST");
  IssuedCertificate second = Ensure();
  EXPECT_EQ(first.serving.certificate_pem, second.serving.certificate_pem);
  EXPECT_EQ(api_.CountCalls("PUT") + api_.CountCalls("POST"), writes);
}

TEST_F(CertificatesTest, RenewsAfterTwoThirdsOfTheTime) {
  IssuedCertificate first = Ensure();
  clock_.Advance(61 * 24h);
  IssuedCertificate second = Ensure();
  EXPECT_NE(first.serving.certificate_pem, second.serving.certificate_pem);
  EXPECT_EQ(first.ca_bundle_pem, second.ca_bundle_pem);
  EXPECT_TRUE(kube::SignedBy(Data(kServing, "tls.crt"), second.ca_bundle_pem));
}

TEST_F(CertificatesTest, ACertificateFromAClockThatWasAheadIsReplaced) {
  clock_.SetWall(clock_.WallNow() + 1h);
  Configure(Ensure().ca_bundle_pem);
  clock_.SetWall(clock_.WallNow() - 1h);
  IssuedCertificate right = Ensure();
  const std::string& pem = right.serving.certificate_pem;
  EXPECT_TRUE(kube::IsTrusted(pem, right.ca_bundle_pem, "web-hook.shop.svc", clock_.WallNow()));
  EXPECT_EQ(Data(kServing, "tls.crt"), pem);
}

TEST_F(CertificatesTest, TwoAuthoritiesAreTrustedWhileOneFollowsTheOther) {
  IssuedCertificate first = Ensure();
  std::string old_serving = Data(kServing, "tls.crt");
  clock_.Advance(kAuthorityValidity - kAuthorityRenewal + 1h);
  IssuedCertificate second = Ensure();
  std::string new_authority = Data(kAuthority, "tls.crt");
  EXPECT_NE(new_authority, first.ca_bundle_pem);
  EXPECT_EQ(second.ca_bundle_pem, new_authority + first.ca_bundle_pem);
  EXPECT_TRUE(kube::SignedBy(Data(kServing, "tls.crt"), new_authority));
  // An expired authority is no longer trusted.
  clock_.Advance(kAuthorityRenewal);
  EXPECT_EQ(Ensure().ca_bundle_pem, new_authority);
}

TEST_F(CertificatesTest, ALostAuthorityIsReplacedTogetherWithItsCertificate) {
  IssuedCertificate first = Ensure();
  api_.Delete<Secret>(kAuthority);
  IssuedCertificate second = Ensure();
  EXPECT_NE(first.ca_bundle_pem, second.ca_bundle_pem);
  EXPECT_TRUE(kube::SignedBy(Data(kServing, "tls.crt"), second.ca_bundle_pem));
}

// The webhook of pods: if its certificate were not trusted at some moment, pods would get no gate.
TEST_F(CertificatesTest, ANewAuthoritySignsNothingBeforeItIsTrusted) {
  for (bool is_lost : {false, true}) {
    SCOPED_TRACE(is_lost ? "lost" : "old");
    IssuedCertificate first = Ensure();
    Configure(first.ca_bundle_pem);
    clock_.Advance(60s);
    if (is_lost) {
      api_.Delete<Secret>(kAuthority);
    } else {
      clock_.Advance(kAuthorityValidity - kAuthorityRenewal - 24h);
      first = Ensure();
      clock_.Advance(48h);
    }
    std::string serving = Data(kServing, "tls.crt");

    IssuedCertificate second = Ensure();
    EXPECT_TRUE(second.pending);
    std::string new_authority = Data(kAuthority, "tls.crt");
    EXPECT_NE(first.ca_bundle_pem.find(second.ca_bundle_pem.substr(new_authority.size())),
              std::string::npos);
    EXPECT_TRUE(kube::SignedBy(serving, second.ca_bundle_pem.substr(new_authority.size())));
    EXPECT_EQ(Data(kServing, "tls.crt"), serving);
    clock_.Advance(1h);
    EXPECT_TRUE(Ensure().pending) << "the bundle is not published";
    EXPECT_EQ(Data(kServing, "tls.crt"), serving);

    Configure(second.ca_bundle_pem);
    IssuedCertificate third = Ensure();
    EXPECT_FALSE(third.pending);
    EXPECT_EQ(third.ca_bundle_pem, second.ca_bundle_pem)
        << "the webhook serves the old certificate for a while";
    EXPECT_TRUE(kube::SignedBy(Data(kServing, "tls.crt"), new_authority));
  }
}

TEST_F(CertificatesTest, ANewAuthorityWaitsUntilAllApiServersHaveSeenIt) {
  Configure(Ensure().ca_bundle_pem);
  clock_.Advance(60s);
  api_.Delete<Secret>(kAuthority);
  Configure(Ensure().ca_bundle_pem);
  clock_.Advance(kAuthoritySettles - 1s);
  EXPECT_TRUE(Ensure().pending);
  clock_.Advance(2s);
  EXPECT_FALSE(Ensure().pending);
}

TEST_F(CertificatesTest, PublishesTheAuthoritiesForOtherClients) {
  IssuedCertificate issued = Ensure();
  EXPECT_EQ(Data(kServing, "ca.crt"), "none");

  // The authorities of a certificate that an earlier version issued. The certificate stays.
  publish_ = true;
  EXPECT_EQ(Ensure().serving.certificate_pem, issued.serving.certificate_pem);
  EXPECT_EQ(Data(kServing, "tls.crt"), issued.serving.certificate_pem);
  EXPECT_EQ(Data(kServing, "ca.crt"), issued.ca_bundle_pem);
  size_t calls = api_.calls().size();
  Ensure();
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(api_.calls().size(), calls + 2) << "two reads";

  // A new authority is published before its first certificate.
  Configure(issued.ca_bundle_pem);
  api_.Delete<Secret>(kAuthority);
  IssuedCertificate pending = Ensure();
  EXPECT_TRUE(pending.pending);
  EXPECT_EQ(Data(kServing, "tls.crt"), issued.serving.certificate_pem);
  EXPECT_EQ(Data(kServing, "ca.crt"), pending.ca_bundle_pem);
  EXPECT_THAT(pending.ca_bundle_pem, HasSubstr(issued.ca_bundle_pem));
}

TEST_F(CertificatesTest, BundlesAreReadOnlyWhenNeeded) {
  Configure(Ensure().ca_bundle_pem);
  Ensure();
  EXPECT_EQ(api_.CountCalls("mutatingwebhookconfigurations"), 0);
}

TEST_F(CertificatesTest, SecretsThatAreNotExpectedAreNotRead) {
  CertificateRequest request = Request();
  request.expect_none = true;
  Result<IssuedCertificate> issued = kube::Run(io_, EnsureCertificate(api_, clock_, request));
  ASSERT_THAT(issued, kube::IsOk());
  EXPECT_THAT(api_.calls(), testing::SizeIs(2)) << "one create each";
  EXPECT_EQ(Data(kServing, "tls.crt"), issued->serving.certificate_pem);
  EXPECT_TRUE(kube::SignedBy(issued->serving.certificate_pem, issued->ca_bundle_pem));

  // If they exist all the same, they stay.
  Result<IssuedCertificate> again = kube::Run(io_, EnsureCertificate(api_, clock_, request));
  ASSERT_THAT(again, kube::IsOk());
  EXPECT_EQ(again->serving.certificate_pem, issued->serving.certificate_pem);
  EXPECT_EQ(again->ca_bundle_pem, issued->ca_bundle_pem);
  // So does an authority alone.
  api_.Delete<Secret>(kServing);
  again = kube::Run(io_, EnsureCertificate(api_, clock_, request));
  ASSERT_THAT(again, kube::IsOk());
  EXPECT_EQ(again->ca_bundle_pem, issued->ca_bundle_pem);
  EXPECT_EQ(Data(kServing, "tls.crt"), again->serving.certificate_pem);
}

TEST_F(CertificatesTest, ADamagedCertificateIsReplaced) {
  Ensure();
  Secret broken = *api_.Get<Secret>(kServing);
  (*broken.mutable_data())["tls.key"] = "nonsense";
  api_.Update(broken);
  IssuedCertificate issued = Ensure();
  EXPECT_TRUE(IsPair(KeyPair{Data(kServing, "tls.crt"), Data(kServing, "tls.key")}));
  EXPECT_TRUE(kube::SignedBy(Data(kServing, "tls.crt"), issued.ca_bundle_pem));
}

TEST_F(CertificatesTest, ACertificateForOtherNamesIsReplaced) {
  Ensure();
  CertificateRequest request = Request();
  request.dns_names = {"other.shop.svc"};
  ASSERT_THAT(kube::Run(io_, EnsureCertificate(api_, clock_, request)), kube::IsOk());
  EXPECT_THAT(*kube::DnsNames(Data(kServing, "tls.crt")), ElementsAre("other.shop.svc"));
}

TEST_F(CertificatesTest, ATokenIsMadeOnRequestAlone) {
  EXPECT_EQ(Ensure().token, "");
  EXPECT_EQ(api_.Get<Secret>(kServing)->data().size(), 2u);
  const std::string certificate = Data(kServing, "tls.crt");
  token_key_ = "token";
  const std::string token = Ensure().token;
  EXPECT_TRUE(kube::IsSecretToken(token)) << token;
  EXPECT_EQ(Data(kServing, "token"), token);
  EXPECT_EQ(Data(kServing, "tls.crt"), certificate);
}

TEST_F(CertificatesTest, TheTokenOutlivesTheCertificate) {
  token_key_ = "token";
  publish_ = true;
  IssuedCertificate first = Ensure();
  clock_.Advance(61 * 24h);
  IssuedCertificate renewed = Ensure();
  ASSERT_NE(renewed.serving.private_key_pem, first.serving.private_key_pem);
  EXPECT_EQ(renewed.token, first.token);
  EXPECT_EQ(Data(kServing, "token"), first.token);
  int writes = api_.CountWrites();
  EXPECT_EQ(Ensure().token, first.token);
  EXPECT_EQ(api_.CountWrites(), writes);
}

TEST_F(CertificatesTest, OnlyALostTokenIsReplaced) {
  token_key_ = "token";
  publish_ = true;
  IssuedCertificate issued = Ensure();
  // Also while another certificate follows.
  for (bool pending : {false, true}) {
    if (pending) {
      Configure(issued.ca_bundle_pem);
      api_.Delete<Secret>(kAuthority);
      ASSERT_TRUE(Ensure().pending);
    }
    for (const std::string& lost :
         {std::string(), std::string("guessable"), std::string(64, 'A')}) {
      const std::string before = Ensure().token;
      Secret secret = *api_.Get<Secret>(kServing);
      (*secret.mutable_data())["token"] = lost;
      api_.Update(secret);
      IssuedCertificate again = Ensure();
      EXPECT_TRUE(kube::IsSecretToken(again.token)) << again.token;
      EXPECT_NE(again.token, before);
      EXPECT_EQ(Data(kServing, "token"), again.token);
      EXPECT_EQ(Data(kServing, "tls.crt"), issued.serving.certificate_pem);
    }
  }
}

TEST_F(CertificatesTest, TwoOperatorsDoNotOverwriteEachOther) {
  Ensure();
  clock_.Advance(kAuthorityValidity - kAuthorityRenewal + 1h);
  bool first = true;
  api_.BeforeEach([&](const std::string& call) {
    if (!first || !call.starts_with("PUT")) return;
    first = false;
    Secret others = *api_.Get<Secret>(kAuthority);  // the other one was faster
    (*others.mutable_metadata()->mutable_annotations())["by"] = "the other";
    api_.Update(others);
  });
  EXPECT_THAT(kube::Run(io_, EnsureCertificate(api_, clock_, Request())),
              FailsWith(Code::kConflict));
}

TEST_F(CertificatesTest, AnUnreachableApiServerIsAnError) {
  api_.FailNext(kube::Error::Unavailable("503"));
  EXPECT_THAT(kube::Run(io_, EnsureCertificate(api_, clock_, Request())),
              FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace operator_
