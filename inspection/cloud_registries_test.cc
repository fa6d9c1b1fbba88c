// SPDX-License-Identifier: Apache-2.0
// The inspector reads registries of clouds with its own identity, and sends that nowhere else. The
// registries have their real names, which a proxy leads to stand-ins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>

#include "inspection/inspector.h"
#include "inspection/testing/connect_proxy.h"
#include "inspection/testing/fake_clouds.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/offset_clock.h"
#include "inspection/testing/on_linux.h"
#include "inspection/testing/registry_fixture.h"
#include "inspection/testing/test_folder.h"
#include "kube/base/base64.h"
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
using placement::ArchitectureSet;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kSts[] = "sts.us-east-1.amazonaws.com";
constexpr char kEcr[] = "api.ecr.us-east-1.amazonaws.com";
constexpr char kRegistry[] = "123456789012.dkr.ecr.us-east-1.amazonaws.com";

class CloudRegistriesTest : public TestFolder {
 protected:
  CloudRegistriesTest() {
    for (const char* host : {kSts, kEcr}) proxy_.Route(host, clouds_.port());
    proxy_.Route(kRegistry, PortOf(registry_));
    setenv("HTTPS_PROXY", proxy_.url().c_str(), 1);
    registry_.PutIndex("app", "1", {{"linux", "arm64"}, {"linux", "s390x"}});
    registry_.RequireBasic("AWS", kFakeEcrPassword);
    options_.cloud.registries = *CloudRegistries::Parse("*.dkr.ecr.*.amazonaws.com");
    options_.cloud.identity.aws_role = kFakeRole;
    options_.cloud.identity.aws_region = "us-east-1";
    options_.cloud.identity.aws_token_file = Write("token", kFakePodToken);
    config_.ca_bundle_pem = ca_.certificate_pem;
  }
  ~CloudRegistriesTest() override { unsetenv("HTTPS_PROXY"); }

  static std::string PortOf(const FakeRegistry& registry) {
    return registry.host().substr(registry.host().find(':') + 1);
  }
  FakeRegistryOptions Tls() const { return {.certificate = serving_}; }

  Result<ArchitectureSet> Inspect(const std::string& image, SharedKeyring keyring = nullptr) {
    return OnLinux(Read(image, std::move(keyring)));
  }
  Result<Inspected> Read(const std::string& image, SharedKeyring keyring = nullptr) {
    if (inspector_ == nullptr) {
      inspector_ = NewImageInspector(io_.get_executor(), clock_, options_);
      EXPECT_THAT(inspector_->SetConfig(config_), IsOk());
    }
    ImageRequest request{.image = image, .keyring = std::move(keyring)};
    return kube::Run(io_, inspector_->Inspect(std::move(request)));
  }

  boost::asio::io_context io_;
  OffsetClock clock_;
  kube::KeyPair ca_ = *kube::NewCertificateAuthority("clouds", 1h, kube::RealClock());
  kube::KeyPair serving_ = *kube::NewServingCertificate(ca_, {kSts, kEcr, kRegistry, "127.0.0.1"},
                                                        1h, kube::RealClock());
  ConnectProxy proxy_{io_.get_executor()};
  FakeClouds clouds_{io_.get_executor(), serving_};
  FakeRegistry registry_{io_.get_executor(), Tls()};
  // With TLS: without it, that alone would keep a credential away.
  FakeRegistry other_{io_.get_executor(), Tls()};
  InspectorOptions options_;
  InspectorConfig config_;
  std::unique_ptr<ImageInspector> inspector_;
};

const std::string kImage = std::string(kRegistry) + "/app:1";

TEST_F(CloudRegistriesTest, AnImageNeedsNoSecret) {
  Result<ArchitectureSet> got = Inspect(kImage);
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, ElementsAre("arm64", "s390x"));
  registry_.PutIndex("app", "2", {{"linux", "ppc64le"}, {"linux", "s390x"}});
  EXPECT_THAT(Inspect(std::string(kRegistry) + "/app:2"), IsOk());
  EXPECT_THAT(clouds_.log(), SizeIs(2)) << "one exchange";
}

// As on a plain cluster without any configuration: the metadata server needs no authority.
TEST_F(CloudRegistriesTest, TheDefaultConfigurationUsesTheControllersIdentity) {
  options_.cloud.registries = *CloudRegistries::Parse("gcr.io");
  options_.cloud.identity.google_metadata = clouds_.metadata_host();
  // Its certificate is of an authority that this test does not trust: the image cannot be read.
  proxy_.Route("gcr.io", PortOf(registry_));
  for (bool set : {false, true}) {
    inspector_ = NewImageInspector(io_.get_executor(), clock_, options_);
    if (set) {
      EXPECT_THAT(inspector_->SetConfig(InspectorConfig()), IsOk());
    }
    size_t before = clouds_.log().size();
    EXPECT_THAT(Inspect("gcr.io/team/app:1"), Not(IsOk()));
    EXPECT_EQ(clouds_.log().size(), before + 1) << "SetConfig: " << set;
  }
}

TEST_F(CloudRegistriesTest, AConfigurationThatDoesNotParseDoesNotTurnItOff) {
  options_.cloud.registries = *CloudRegistries::Parse("gcr.io");
  options_.cloud.identity.google_metadata = clouds_.metadata_host();
  inspector_ = NewImageInspector(io_.get_executor(), clock_, options_);
  EXPECT_THAT(inspector_->SetConfig({.registries_conf = "no TOML"}), Not(IsOk()));
  EXPECT_THAT(Inspect("gcr.io/team/app:1"), Not(IsOk()));
  EXPECT_THAT(clouds_.log(), SizeIs(1)) << "also while the configuration does not parse";
}

TEST_F(CloudRegistriesTest, WhileTheCloudFailsACredentialIsUsedUntilItExpires) {
  ASSERT_THAT(Inspect(kImage), IsOk());
  clouds_.Fail(503);
  clock_.Advance(10h);
  registry_.PutIndex("app", "2", {{"linux", "ppc64le"}, {"linux", "s390x"}});
  EXPECT_THAT(Inspect(std::string(kRegistry) + "/app:2"), IsOk());
  EXPECT_THAT(clouds_.log(), SizeIs(3)) << "a renewal was tried";
}

// The registry refuses the image, but that is the cloud's failure.
TEST_F(CloudRegistriesTest, WhileTheCloudFailsWhatWasReadBeforeIsUsed) {
  ASSERT_THAT(Inspect(kImage), IsOk());
  clouds_.Fail(503);
  clock_.Advance(13h);
  Result<Inspected> got = Read(kImage);
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(got->stale, AllOf(HasSubstr("/app:1 was read 780 minutes ago"),
                                HasSubstr("sts.us-east-1.amazonaws.com: status 503")));
  EXPECT_THAT(Inspect(std::string(kRegistry) + "/never:1"),
              FailsWith(Code::kUnavailable, AllOf(HasSubstr("registry " + std::string(kRegistry)),
                                                  HasSubstr("status 503"))));
  // A denial is an answer.
  clouds_.Fail(403);
  clock_.Advance(1min);
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated, HasSubstr("status 403")));
}

TEST_F(CloudRegistriesTest, AKnownDigestNeedsNoExchange) {
  std::string digest = registry_.PutIndex("app", "3", {{"linux", "arm64"}, {"linux", "s390x"}});
  const std::string image = std::string(kRegistry) + "/app@" + digest;
  ASSERT_THAT(Inspect(image), IsOk());
  clouds_.Fail(503);
  clock_.Advance(13h);
  EXPECT_TRUE(inspector_->Cached({.image = image}));
  EXPECT_THAT(Inspect(image), IsOk());
  EXPECT_THAT(clouds_.log(), SizeIs(2));
}

TEST_F(CloudRegistriesTest, ACredentialOutlivesTheConfiguration) {
  ASSERT_THAT(Inspect(kImage), IsOk());
  config_.registries_conf = "[[registry]]\nlocation = \"mirrored.example.com\"\n";
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  EXPECT_THAT(Inspect(kImage), IsOk());
  EXPECT_THAT(clouds_.log(), SizeIs(2)) << "no second exchange";
  // Other authorities: it is renewed, and used if that fails.
  config_.ca_bundle_pem += kube::NewCertificateAuthority("more", 1h, clock_)->certificate_pem;
  ASSERT_THAT(inspector_->SetConfig(config_), IsOk());
  clouds_.Fail(503);
  EXPECT_THAT(Inspect(kImage), IsOk());
  EXPECT_THAT(clouds_.log(), SizeIs(3));
}

// Such as a session that was revoked.
TEST_F(CloudRegistriesTest, ACredentialThatTheRegistryRefusesIsRenewed) {
  FakeRegistry registry(io_.get_executor(), Tls());
  registry.PutIndex("app", "1", {{"linux", "arm64"}, {"linux", "s390x"}});
  registry.RequireBasic("AWS", "another");
  proxy_.Route(kRegistry, PortOf(registry));
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated));
  clock_.Advance(2s);
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(clouds_.log(), SizeIs(2)) << "not more often than every 30 seconds";
  clock_.Advance(30s);
  registry.RequireBasic("AWS", kFakeEcrPassword);
  EXPECT_THAT(Inspect(kImage), IsOk());
  EXPECT_THAT(clouds_.log(), SizeIs(4)) << "exchanged again, long before it expires";
}

TEST_F(CloudRegistriesTest, ThePodsOwnSecretIsUsedFirst) {
  registry_.RequireBasic("own", "p");
  EXPECT_THAT(Inspect(kImage, NewKeyring(kRegistry, "own", "p")), IsOk());
  EXPECT_THAT(registry_.authorizations(),
              Not(::testing::Contains("Basic " + kube::Base64Encode("AWS:ecr-password"))));
}

TEST_F(CloudRegistriesTest, WithoutTheOptionThereIsNoExchange) {
  options_.cloud.registries = CloudRegistries();
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(clouds_.log(), IsEmpty());
}

TEST_F(CloudRegistriesTest, TheErrorOfARefusedImageSaysWhyThereIsNoCredential) {
  options_.cloud.identity.aws_role = "arn:aws:iam::123456789012:role/other";
  EXPECT_THAT(Inspect(kImage),
              FailsWith(Code::kUnauthenticated,
                        AllOf(HasSubstr("credential of ECR in us-east-1: sts.us-east-1.amazonaws."
                                        "com: status 403"),
                              Not(HasSubstr(kFakePodToken)))));
}

TEST_F(CloudRegistriesTest, AMirrorElsewhereGetsNoCredential) {
  config_.registries_conf = "[[registry]]\nlocation = \"" + std::string(kRegistry) +
                            "\"\n[[registry.mirror]]\nlocation = \"" + other_.host() + "\"\n";
  other_.RequireBasic("AWS", kFakeEcrPassword);
  EXPECT_THAT(Inspect(kImage), IsOk()) << "from the registry, after the mirror";
  EXPECT_THAT(other_.authorizations(), Not(IsEmpty()));
  EXPECT_THAT(other_.authorizations(), Each(""));
}

TEST_F(CloudRegistriesTest, ANameThatTheConfigurationLeadsElsewhereGetsNoCredential) {
  config_.registries_conf = "[[registry]]\nprefix = \"" + std::string(kRegistry) +
                            "\"\nlocation = \"" + other_.host() + "\"\n";
  other_.RequireBasic("AWS", kFakeEcrPassword);
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(other_.authorizations(), Not(IsEmpty()));
  EXPECT_THAT(other_.authorizations(), Each(""));
  EXPECT_THAT(clouds_.log(), IsEmpty());
}

TEST_F(CloudRegistriesTest, AMirrorInACloudGetsItsCredential) {
  config_.registries_conf =
      "[[registry]]\nprefix = \"quay.test\"\nlocation = \"" + std::string(kRegistry) + "\"\n";
  EXPECT_THAT(Inspect("quay.test/app:1"), IsOk());
}

TEST_F(CloudRegistriesTest, ARegistryThatNeedNotProveItsNameGetsNoCredential) {
  config_.registries_conf = InsecureRegistriesConf(kRegistry);
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(registry_.authorizations(), Each(""));
  EXPECT_THAT(clouds_.log(), IsEmpty());
}

TEST_F(CloudRegistriesTest, ATokenServerElsewhereGetsNoCredential) {
  FakeRegistry tokens(io_.get_executor(), Tls());
  tokens.RequireToken("AWS", kFakeEcrPassword);
  FakeRegistry registry(io_.get_executor(), Tls());
  registry.RequireToken("AWS", kFakeEcrPassword);
  registry.UseTokenServer(tokens.url() + "/token");
  proxy_.Route(kRegistry, PortOf(registry));
  // So that the address of the token server is no reason to refuse it.
  config_.registries_conf = "[[registry]]\nlocation = \"" + tokens.host() + "\"\n";
  EXPECT_THAT(Inspect(kImage), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(tokens.authorizations(), Not(IsEmpty())) << "an anonymous token is asked for";
  EXPECT_THAT(tokens.authorizations(), Each(""));

  // The registry's own is used.
  registry.PutIndex("app", "2", {{"linux", "arm64"}, {"linux", "s390x"}});
  registry.UseTokenServer("https://" + std::string(kRegistry) + "/token");
  inspector_.reset();
  EXPECT_THAT(Inspect(std::string(kRegistry) + "/app:2"), IsOk());
}

TEST_F(CloudRegistriesTest, ARedirectElsewhereHasNoCredential) {
  registry_.PutImage("single", "1", {"linux", "arm64"});
  // With TLS, and named by the configuration: neither is a reason to refuse the redirect.
  FakeRegistry other(io_.get_executor(), Tls());
  registry_.Redirect("/blobs/", other.url() + "/v2/blobs");
  config_.registries_conf = "[[registry]]\nlocation = \"" + other.host() + "\"\n";
  EXPECT_THAT(Inspect(std::string(kRegistry) + "/single:1"), Not(IsOk()));
  EXPECT_THAT(other.authorizations(), Not(IsEmpty()));
  EXPECT_THAT(other.authorizations(), Each(""));
}

}  // namespace
}  // namespace inspection
