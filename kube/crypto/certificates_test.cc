// SPDX-License-Identifier: Apache-2.0
#include "kube/crypto/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base/clock.h"
#include "kube/base/error.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CertificatesTest : public ::testing::Test {
 protected:
  Clock& clock_ = RealClock();
  KeyPair ca_ = *NewCertificateAuthority("test-ca", 24h, clock_);
};

TEST_F(CertificatesTest, AuthoritySignsServers) {
  Result<KeyPair> serving = NewServingCertificate(ca_, {"webhook.ns.svc", "127.0.0.1"}, 1h, clock_);
  ASSERT_TRUE(serving) << serving.error();
  EXPECT_TRUE(SignedBy(serving->certificate_pem, ca_.certificate_pem));
  EXPECT_TRUE(SignedBy(ca_.certificate_pem, ca_.certificate_pem));
  EXPECT_TRUE(IsPair(*serving));
  EXPECT_THAT(serving->private_key_pem, StartsWith("-----BEGIN PRIVATE KEY-----"));
}

TEST_F(CertificatesTest, AnotherAuthorityOfTheSameNameDidNotSign) {
  KeyPair other = *NewCertificateAuthority("test-ca", 24h, clock_);
  KeyPair serving = *NewServingCertificate(ca_, {"webhook.ns.svc"}, 1h, clock_);
  EXPECT_FALSE(SignedBy(serving.certificate_pem, other.certificate_pem));
  EXPECT_FALSE(IsPair({serving.certificate_pem, other.private_key_pem}));
}

TEST_F(CertificatesTest, KeepsNamesInOrder) {
  KeyPair serving = *NewServingCertificate(
      ca_, {"a.ns.svc", "a.ns.svc.cluster.local", "10.0.0.1", "::1"}, 1h, clock_);
  EXPECT_THAT(*DnsNames(serving.certificate_pem),
              ElementsAre("a.ns.svc", "a.ns.svc.cluster.local", "10.0.0.1", "::1"));
  EXPECT_THAT(*DnsNames(ca_.certificate_pem), ElementsAre());
}

TEST_F(CertificatesTest, RefusesNamesWithOpenSslSyntax) {
  for (const char* name : {"", "a,DNS:evil.example", "a b", "a\nb", "email:x@y"}) {
    EXPECT_TRUE(FailedWith(NewServingCertificate(ca_, {name}, 1h, clock_), Code::kInvalid)) << name;
  }
  EXPECT_TRUE(FailedWith(NewServingCertificate(ca_, {}, 1h, clock_), Code::kInvalid));
}

TEST_F(CertificatesTest, HasAnEndOfValidity) {
  KeyPair serving = *NewServingCertificate(ca_, {"a.ns.svc"}, 1h, clock_);
  WallTime expected = clock_.WallNow() + 1h;
  EXPECT_LT(*NotAfter(serving.certificate_pem), expected + 1min);
  EXPECT_GT(*NotAfter(serving.certificate_pem), expected - 1min);
}

TEST_F(CertificatesTest, NeverOutlivesItsAuthority) {
  KeyPair serving = *NewServingCertificate(ca_, {"a.ns.svc"}, 10 * 24h, clock_);
  EXPECT_EQ(*NotAfter(serving.certificate_pem), *NotAfter(ca_.certificate_pem));
}

TEST_F(CertificatesTest, CutsNamesLongerThanX509Allows) {
  std::string name = std::string(63, 'a') + ".pod-placement.svc";
  Result<KeyPair> ca = NewCertificateAuthority(name, 1h, clock_);
  ASSERT_TRUE(ca) << ca.error();
  Result<KeyPair> serving = NewServingCertificate(*ca, {name}, 1h, clock_);
  ASSERT_TRUE(serving) << serving.error();
  EXPECT_THAT(*DnsNames(serving->certificate_pem), ElementsAre(name));
}

TEST_F(CertificatesTest, MalformedInputIsAnErrorWithoutTheKey) {
  KeyPair mixed{ca_.private_key_pem, ca_.private_key_pem};
  Result<KeyPair> serving = NewServingCertificate(mixed, {"a.ns.svc"}, 1h, clock_);
  ASSERT_TRUE(FailedWith(serving, Code::kInvalid));
  EXPECT_THAT(serving.error().message(), Not(HasSubstr("PRIVATE")));
  EXPECT_TRUE(FailedWith(NotAfter("garbage"), Code::kInvalid));
  EXPECT_TRUE(FailedWith(DnsNames(""), Code::kInvalid));
  EXPECT_FALSE(SignedBy("garbage", ca_.certificate_pem));
  EXPECT_FALSE(IsPair({"", ""}));
}

TEST_F(CertificatesTest, TrustDependsOnAuthorityNameAndTime) {
  KeyPair other = *NewCertificateAuthority("test-ca", 24h, clock_);
  std::string serving = NewServingCertificate(ca_, {"webhook.ns.svc"}, 1h, clock_)->certificate_pem;
  std::string both = other.certificate_pem + "# a comment\n" + ca_.certificate_pem;
  WallTime now = clock_.WallNow();
  EXPECT_TRUE(IsTrusted(serving, ca_.certificate_pem, "webhook.ns.svc", now));
  EXPECT_TRUE(IsTrusted(serving, both, "webhook.ns.svc", now));
  EXPECT_FALSE(IsTrusted(serving, other.certificate_pem, "webhook.ns.svc", now));
  EXPECT_FALSE(IsTrusted(serving, "", "webhook.ns.svc", now));
  EXPECT_FALSE(IsTrusted(serving, both, "webhook.other.svc", now));
  EXPECT_FALSE(IsTrusted(serving, both, "webhook.ns.svc", now + 2h));
  EXPECT_FALSE(IsTrusted("nonsense", both, "webhook.ns.svc", now));
  EXPECT_THAT(CertificatesIn(both), ElementsAre(other.certificate_pem, ca_.certificate_pem));
  EXPECT_THAT(CertificatesIn(ca_.private_key_pem), ElementsAre());
}

}  // namespace
}  // namespace kube
