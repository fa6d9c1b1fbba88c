// SPDX-License-Identifier: Apache-2.0
// The exchanges of each cloud, by their hosts' real names, against stand-ins.
#include "inspection/cloud/new_exchanges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstdlib>

#include "inspection/cloud/amazon.h"
#include "inspection/cloud/cloud_http.h"
#include "inspection/registry/address_policy.h"
#include "inspection/testing/connect_proxy.h"
#include "inspection/testing/fake_clouds.h"
#include "inspection/testing/test_folder.h"
#include "kube/base/base64.h"
#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSts[] = "sts.us-east-1.amazonaws.com";
constexpr char kEcr[] = "api.ecr.us-east-1.amazonaws.com";
constexpr char kEntra[] = "login.microsoftonline.com";
constexpr char kAcr[] = "team.azurecr.io";
constexpr char kEcrRegistry[] = "123456789012.dkr.ecr.us-east-1.amazonaws.com";

class NewExchangesTest : public TestFolder {
 protected:
  NewExchangesTest() {
    for (const char* host : {kSts, kEcr, kEntra, kAcr}) proxy_.Route(host, clouds_.port());
    setenv("HTTPS_PROXY", proxy_.url().c_str(), 1);
    // Must not be used for the metadata server.
    setenv("HTTP_PROXY", proxy_.url().c_str(), 1);
    identity_.aws_role = kFakeRole;
    identity_.aws_region = "us-east-1";
    identity_.aws_token_file = Write("token", std::string(kFakePodToken) + "\n");
    identity_.azure_client = kFakeAzureClient;
    identity_.azure_tenant = kFakeAzureTenant;
    identity_.azure_token_file = identity_.aws_token_file;
    identity_.google_metadata = clouds_.metadata_host();
  }
  ~NewExchangesTest() override {
    unsetenv("HTTPS_PROXY");
    unsetenv("HTTP_PROXY");
  }

  Result<ExchangedLogin> Exchange(const std::string& host, std::chrono::seconds time = 60s) {
    CloudRegistry registry = *CloudRegistryOf(host);
    TokenExchanges exchanges =
        NewTokenExchanges(io_.get_executor(), kube::RealClock(), identity_, ca_.certificate_pem);
    return kube::Run(
        io_, exchanges.at(registry.cloud)->Exchange(registry, kube::RealClock().Now() + time));
  }

  boost::asio::io_context io_;
  kube::KeyPair ca_ = *kube::NewCertificateAuthority("clouds", 1h, kube::RealClock());
  ConnectProxy proxy_{io_.get_executor()};
  FakeClouds clouds_{
      io_.get_executor(),
      *kube::NewServingCertificate(ca_, {kSts, kEcr, kEntra, kAcr}, 1h, kube::RealClock())};
  CloudIdentity identity_;
};

TEST_F(NewExchangesTest, EcrsPasswordComesFromARoleForTheToken) {
  Result<ExchangedLogin> login = Exchange(kEcrRegistry);
  ASSERT_THAT(login, IsOk());
  EXPECT_EQ(login->username, "AWS");
  EXPECT_EQ(login->password, kFakeEcrPassword);
  EXPECT_GT(login->lifetime, 11h);
  EXPECT_THAT(clouds_.log(), ElementsAre(std::string(kSts) + " /", std::string(kEcr) + " /"));
}

TEST_F(NewExchangesTest, GooglesTokenComesFromTheMetadataServerWithoutAProxy) {
  for (const char* host : {"europe-docker.pkg.dev", "gcr.io"}) {
    Result<ExchangedLogin> login = Exchange(host);
    ASSERT_THAT(login, IsOk()) << host;
    EXPECT_EQ(login->username, "oauth2accesstoken");
    EXPECT_EQ(login->password, kFakeGoogleToken);
    EXPECT_EQ(login->lifetime, 3599s);
  }
  EXPECT_THAT(proxy_.asked(), IsEmpty());
}

TEST_F(NewExchangesTest, AcrsRefreshTokenComesFromAnAccessTokenForTheFederatedOne) {
  Result<ExchangedLogin> login = Exchange(kAcr);
  ASSERT_THAT(login, IsOk());
  EXPECT_EQ(login->username, "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(login->password, kFakeAcrRefreshToken);
  EXPECT_THAT(clouds_.log(),
              ElementsAre(std::string(kEntra) + " /" + kFakeAzureTenant + "/oauth2/v2.0/token",
                          std::string(kAcr) + " /oauth2/exchange"));
}

TEST_F(NewExchangesTest, ATokenThatIsRenewedIsReadAgain) {
  Write("token", "old");
  EXPECT_THAT(Exchange(kEcrRegistry),
              FailsWith(Code::kPermissionDenied, HasSubstr(std::string(kSts) + ": status 403")));
  Write("token", kFakePodToken);
  EXPECT_THAT(Exchange(kEcrRegistry), IsOk());
}

// The answers quote what was sent.
TEST_F(NewExchangesTest, NoErrorHasASecretAndNoRedirectIsFollowed) {
  clouds_.Fail(307, "https://" + std::string(kAcr) + "/oauth2/exchange");
  for (const char* host : {kEcrRegistry, kAcr, "gcr.io"}) {
    size_t calls = clouds_.log().size();
    EXPECT_THAT(Exchange(host), FailsWith(Code::kInvalid, AllOf(HasSubstr(": status 307"),
                                                                Not(HasSubstr("token")))))
        << host;
    EXPECT_EQ(clouds_.log().size(), calls + 1) << host;
  }
  clouds_.Fail(400);
  EXPECT_THAT(Exchange(kAcr), FailsWith(Code::kUnauthenticated, Not(HasSubstr(kFakePodToken))));
  clouds_.Fail(503);
  EXPECT_THAT(Exchange(kEcrRegistry), FailsWith(Code::kUnavailable, Not(HasSubstr(kFakePodToken))));
}

TEST_F(NewExchangesTest, NothingIsCalledAfterTheDeadline) {
  for (const char* host : {kEcrRegistry, kAcr, "gcr.io"})
    EXPECT_THAT(Exchange(host, 0s), FailsWith(Code::kDeadlineExceeded)) << host;
  EXPECT_THAT(clouds_.log(), IsEmpty());
}

TEST_F(NewExchangesTest, WhatIsMissingIsNamed) {
  identity_ = CloudIdentity();
  EXPECT_THAT(Exchange(kEcrRegistry),
              FailsWith(Code::kInvalid, HasSubstr("AWS_ROLE_ARN is not set")));
  EXPECT_THAT(Exchange(kAcr), FailsWith(Code::kInvalid, HasSubstr("AZURE_CLIENT_ID is not set")));
  identity_.aws_role = kFakeRole;
  EXPECT_THAT(Exchange(kEcrRegistry),
              FailsWith(Code::kInvalid, HasSubstr("AWS_REGION is not set")));
  identity_.aws_region = "us-east-1";
  EXPECT_THAT(Exchange(kEcrRegistry),
              FailsWith(Code::kInvalid, HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE is not set")));
  identity_.aws_region = "cn-north-1";
  EXPECT_THAT(Exchange(kEcrRegistry), FailsWith(Code::kInvalid, HasSubstr("partition")));
  identity_.aws_region = "evil.example.com/";
  EXPECT_THAT(Exchange(kEcrRegistry), FailsWith(Code::kInvalid, HasSubstr("no region")));
  identity_.azure_client = kFakeAzureClient;
  identity_.azure_tenant = kFakeAzureTenant;
  identity_.azure_token_file = Write("token", kFakePodToken);
  identity_.azure_authority = "http://login.microsoftonline.com/";
  EXPECT_THAT(Exchange(kAcr), FailsWith(Code::kInvalid, HasSubstr("no https URL")));
  EXPECT_THAT(clouds_.log(), IsEmpty());
}

TEST_F(NewExchangesTest, AServerThatDoesNotProveItsNameGetsNothing) {
  proxy_.Route("other.azurecr.io", clouds_.port());
  EXPECT_THAT(Exchange("other.azurecr.io"),
              FailsWith(Code::kUnavailable, HasSubstr("other.azurecr.io")));
  EXPECT_THAT(clouds_.log(), ElementsAre(HasSubstr(kEntra)));
}

TEST(AssumedRoleTest, AnAnswerWithoutPlainCredentialsIsAnError) {
  auto xml = [](const std::string& key) {
    return "<Credentials><AccessKeyId>" + key +
           "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
           "</Credentials>";
  };
  auto credentials = ParseAssumedRole(xml("a"));
  ASSERT_THAT(credentials, IsOk());
  EXPECT_EQ(credentials->access_key_id, "a");
  for (const std::string& key : {std::string(), std::string("a b"), std::string("a\r\nX: y"),
                                 std::string("<b>"), std::string("&amp;"), std::string(9000, 'a')})
    EXPECT_THAT(ParseAssumedRole(xml(key)), FailsWith(Code::kInvalid)) << key.substr(0, 9);
  EXPECT_THAT(ParseAssumedRole("<AccessKeyId>a"), FailsWith(Code::kInvalid));
  EXPECT_THAT(ParseAssumedRole(""), FailsWith(Code::kInvalid));
}

TEST(EcrLoginTest, AnAnswerWithoutAUsableUserAndPasswordIsAnError) {
  kube::WallTime now = *kube::ParseTime("2026-01-01T00:00:00Z");
  auto parse = [&](const std::string& pair, const std::string& more = "") {
    return ParseEcrLogin(R"({"authorizationData":[{"authorizationToken":")" +
                             kube::Base64Encode(pair) + "\"" + more + "}]}",
                         now);
  };
  auto login = parse("AWS:secret");
  ASSERT_THAT(login, IsOk());
  EXPECT_EQ(login->username, "AWS");
  EXPECT_EQ(login->password, "secret");
  EXPECT_EQ(login->lifetime, 1h) << "without a time";
  EXPECT_EQ(parse("AWS:s", R"(,"expiresAt":1767225660.5)")->lifetime, 60s);
  EXPECT_EQ(parse("AWS:s", R"(,"expiresAt":1e300)")->lifetime, 12h);
  EXPECT_EQ(parse("AWS:s", R"(,"expiresAt":1)")->lifetime, 0s);
  EXPECT_THAT(parse("AWS:" + std::string(kMaxSecret, 'x')), IsOk());
  for (const std::string& pair :
       {std::string("AWS"), std::string("AWS:"), std::string(":secret"), std::string("AWS:a b"),
        std::string("AWS:a\r\nX: y"), "AWS:" + std::string(kMaxSecret + 1, 'x')}) {
    EXPECT_THAT(parse(pair), FailsWith(Code::kInvalid, HasSubstr("not a user with a password")))
        << pair.substr(0, 20);
  }
  for (const char* body : {"", "[]", "{}", R"({"authorizationData":[]})"})
    EXPECT_THAT(ParseEcrLogin(body, now), FailsWith(Code::kInvalid)) << body;
}

TEST(CloudIdentityTest, ComesFromTheVariablesOfTheClouds) {
  CloudIdentity none = CloudIdentity::From([](const char*) { return nullptr; });
  EXPECT_EQ(none.azure_authority, "https://login.microsoftonline.com/");
  // No name, which a search domain of the pod could lead to a tenant's Service.
  boost::system::error_code no_address;
  auto metadata = boost::asio::ip::make_address(none.google_metadata, no_address);
  ASSERT_FALSE(no_address) << none.google_metadata;
  EXPECT_EQ(ClassOf(metadata), AddressClass::kLinkLocal);
  CloudIdentity all = CloudIdentity::From([](const char* name) { return name; });
  EXPECT_EQ(all.aws_role, "AWS_ROLE_ARN");
  EXPECT_EQ(all.aws_region, "AWS_REGION");
  EXPECT_EQ(all.azure_token_file, "AZURE_FEDERATED_TOKEN_FILE");
  EXPECT_EQ(all.google_metadata, "GCE_METADATA_HOST");
}

}  // namespace
}  // namespace inspection
