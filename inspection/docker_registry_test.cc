// SPDX-License-Identifier: Apache-2.0
// The inspector with real registries: Debian's docker-registry (distribution 2) and distribution 3,
// with a password, with tokens, and as proxies of another registry. Where the two differ:
// inspection/README.md.
#include "inspection/testing/docker_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>

#include "inspection/base/manifest.h"
#include "inspection/inspector.h"
#include "inspection/registry/auth.h"
#include "inspection/testing/on_linux.h"
#include "inspection/testing/registry_fixture.h"
#include "inspection/testing/token_server.h"
#include "kube/crypto/certificates.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using placement::ArchitectureSet;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RealRegistryTest : public ::testing::TestWithParam<RegistryProgram> {
 protected:
  void SetUp() override {
    for (RegistryProgram program : {GetParam(), RegistryProgram::kDebian})
      if (!IsInstalled(program)) GTEST_SKIP() << HowToInstall(program);
    // A folder for each test: Bazel runs all of them in one.
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::string(std::getenv("TEST_TMPDIR")) + "/" + test->test_suite_name() + "/" +
              test->name();
    StartRegistries();
  }
  virtual void StartRegistries() = 0;

  // The inspector without what it has cached.
  void NewInspector(const InspectorConfig& config) {
    InspectorOptions options;
    options.trace = [this](const std::string& line) {
      if (line.find("/v2/") != std::string::npos) ++registry_requests_;
    };
    inspector_ = NewImageInspector(io_.get_executor(), kube::RealClock(), options);
    ASSERT_THAT(inspector_->SetConfig(config), IsOk());
  }

  std::string host() const { return registry_->host(); }
  void PushIndex(const std::string& repository, const std::string& tag, std::string_view type,
                 std::string_view image) {
    std::vector<std::string> entries;
    for (const char* architecture : {"amd64", "ppc64le"}) {
      entries.push_back(publisher_->PushEntry(repository, {"linux", architecture}, image));
    }
    publisher_->PushIndex(repository, tag, entries, type);
  }
  // Their manifests and configs are read.
  void PushIndexWithoutPlatforms(const std::string& repository, const std::string& tag,
                                 const std::vector<std::string>& architectures) {
    std::vector<std::string> entries;
    for (const std::string& architecture : architectures) {
      std::string digest =
          publisher_->PushImage(repository, "", {"linux", architecture}, kOciManifest);
      entries.push_back(R"({"mediaType":")" + std::string(kOciManifest) +
                        R"(","size":1,"digest":")" + digest + "\"}");
    }
    publisher_->PushIndex(repository, tag, entries, kOciIndex);
  }
  void PushEveryKind(const std::string& repository) {
    publisher_->PushImage(repository, "oci", {"linux", "arm64"}, kOciManifest);
    publisher_->PushImage(repository, "docker", {"linux", "s390x"}, kDockerManifest);
    PushIndex(repository, "index", kOciIndex, kOciManifest);
    PushIndex(repository, "list", kDockerList, kDockerManifest);
    PushIndexWithoutPlatforms(repository, "plain", {"riscv64", "s390x"});
  }
  void ExpectEveryKind(const std::string& repository) {
    for (auto [tag, wanted] : {std::pair<std::string, ArchitectureSet>{"oci", {"arm64"}},
                               {"docker", {"s390x"}},
                               {"index", {"amd64", "ppc64le"}},
                               {"list", {"amd64", "ppc64le"}},
                               {"plain", {"riscv64", "s390x"}}}) {
      Result<ArchitectureSet> got = Inspect(repository + ":" + tag);
      ASSERT_THAT(got, IsOk()) << tag;
      EXPECT_EQ(*got, wanted) << tag;
    }
  }

  Result<ArchitectureSet> Inspect(const std::string& image, bool always_pull = false) {
    ImageRequest request{
        .image = host() + "/" + image, .always_pull = always_pull, .keyring = keyring_};
    return OnLinux(kube::Run(io_, inspector_->Inspect(std::move(request))));
  }

  kube::asio::io_context io_;
  std::string folder_;
  std::unique_ptr<DockerRegistry> registry_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<ImageInspector> inspector_;
  SharedKeyring keyring_;
  int registry_requests_ = 0;
};

// --- With a password

class DockerRegistryTest : public RealRegistryTest {
 protected:
  void StartRegistries() override {
    registry_ = std::make_unique<DockerRegistry>(DockerRegistryOptions{
        .program = GetParam(), .folder = folder_, .storage = folder_ + "/data", .password = true});
    publisher_ =
        std::make_unique<Publisher>(io_, registry_->port(), BasicAuthorization("u", "secret"));
    NewInspector({.registries_conf = InsecureRegistriesConf(host())});
    keyring_ = NewKeyring(host(), "u", "secret");
  }
};

TEST_P(DockerRegistryTest, EveryKindOfImageIsRead) {
  PushEveryKind("team/app");
  ExpectEveryKind("team/app");
}

TEST_P(DockerRegistryTest, AlwaysPullDetectsAMovedTag) {
  publisher_->PushImage("app", "1", {"linux", "amd64"}, kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  int before = registry_requests_;
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  EXPECT_EQ(registry_requests_, before + 1);
  publisher_->PushImage("app", "1", {"linux", "arm64"}, kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("arm64"));
}

TEST_P(DockerRegistryTest, WithoutThePasswordAccessIsRefused) {
  publisher_->PushImage("app", "1", {"linux", "amd64"}, kOciManifest);
  keyring_.reset();
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnauthenticated));
}

TEST_P(DockerRegistryTest, AnAbsentImageIsNotFound) {
  EXPECT_THAT(Inspect("app:absent"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Inspect("app@sha256:" + std::string(64, 'b')), FailsWith(Code::kNotFound));
}

// --- With tokens

class TokenRegistryTest : public RealRegistryTest {
 protected:
  void StartRegistries() override {
    kube::KeyPair ca =
        *kube::NewCertificateAuthority("registries", std::chrono::hours(1), kube::RealClock());
    kube::KeyPair signer =
        *kube::NewCertificateAuthority("tokens", std::chrono::hours(1), kube::RealClock());
    kube::KeyPair serving =
        *kube::NewServingCertificate(ca, {"127.0.0.1"}, std::chrono::hours(1), kube::RealClock());
    tokens_ = std::make_unique<TokenServer>(io_.get_executor(), serving, signer);
    std::string storage = folder_ + "/data";
    registry_ = std::make_unique<DockerRegistry>(
        DockerRegistryOptions{.program = GetParam(),
                              .folder = folder_ + "/closed",
                              .storage = storage,
                              .certificate = serving,
                              .token_realm = tokens_->url(),
                              .token_certificate_pem = signer.certificate_pem});
    open_ = std::make_unique<DockerRegistry>(DockerRegistryOptions{
        .program = GetParam(), .folder = folder_ + "/open", .storage = storage});
    publisher_ = std::make_unique<Publisher>(io_, open_->port(), "");
    NewInspector({.ca_bundle_pem = ca.certificate_pem});
    keyring_ = NewKeyring(host(), "u", "secret");
  }

  std::unique_ptr<TokenServer> tokens_;
  std::unique_ptr<DockerRegistry> open_;
};

TEST_P(TokenRegistryTest, EveryKindOfImageIsRead) {
  PushEveryKind("team/app");
  ExpectEveryKind("team/app");
}

// A token for one repository is not sent to another.
TEST_P(TokenRegistryTest, EachRepositoryHasItsToken) {
  publisher_->PushImage("team/app", "1", {"linux", "amd64"}, kOciManifest);
  publisher_->PushImage("team/other", "1", {"linux", "arm64"}, kOciManifest);
  EXPECT_THAT(Inspect("team/app:1"), IsOk());
  EXPECT_THAT(Inspect("team/other:1"), IsOk());
}

TEST_P(TokenRegistryTest, WithoutThePasswordAccessIsRefused) {
  publisher_->PushImage("app", "1", {"linux", "amd64"}, kOciManifest);
  keyring_ = NewKeyring(host(), "u", "guess");
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnauthenticated, HasSubstr("1 credential")));
  keyring_.reset();
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnauthenticated, HasSubstr("0 credentials")));
}

TEST_P(TokenRegistryTest, AnAbsentImageIsNotFound) {
  EXPECT_THAT(Inspect("app:absent"), FailsWith(Code::kNotFound));
}

// --- As a proxy of Debian's docker-registry

class PullThroughTest : public RealRegistryTest {
 protected:
  void StartRegistries() override {
    upstream_ = std::make_unique<DockerRegistry>(DockerRegistryOptions{
        .folder = folder_ + "/upstream", .storage = folder_ + "/upstream/data"});
    publisher_ = std::make_unique<Publisher>(io_, upstream_->port(), "");
    registry_ = std::make_unique<DockerRegistry>(
        DockerRegistryOptions{.program = GetParam(),
                              .folder = folder_ + "/proxy",
                              .storage = folder_ + "/proxy/data",
                              .remote_url = "http://" + upstream_->host()});
    NewInspector(config());
  }

  InspectorConfig config() const { return {.registries_conf = InsecureRegistriesConf(host())}; }
  static std::string Digest(char c) { return "@sha256:" + std::string(64, c); }

  std::unique_ptr<DockerRegistry> upstream_;
};

TEST_P(PullThroughTest, EveryKindOfImageIsRead) {
  PushEveryKind("team/app");
  ExpectEveryKind("team/app");
  NewInspector(config());
  ExpectEveryKind("team/app");
}

TEST_P(PullThroughTest, AMovedTagIsDetected) {
  publisher_->PushImage("app", "1", {"linux", "amd64"}, kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  publisher_->PushImage("app", "1", {"linux", "arm64"}, kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("arm64"));
}

TEST_P(PullThroughTest, WhatTheUpstreamDoesNotHaveIsNotFound) {
  std::string digest = publisher_->PushImage("team/app", "oci", {"linux", "arm64"}, kOciManifest);
  EXPECT_THAT(Inspect("team/app:absent"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Inspect("team/app" + Digest('b')), FailsWith(Code::kNotFound));
  EXPECT_THAT(Inspect("team/app" + Digest('c')), FailsWith(Code::kNotFound));
  EXPECT_THAT(Inspect("team/absent:1"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Inspect("team/app@" + digest), IsOk());
}

// The proxy answers for what it has: only the documents that fail are down, not their repository.
TEST_P(PullThroughTest, WithoutTheUpstreamWhatTheProxyHasIsRead) {
  for (const char* repository : {"team/app", "team/other"}) {
    publisher_->PushImage(repository, "oci", {"linux", "arm64"}, kOciManifest);
    EXPECT_THAT(Inspect(repository + std::string(":oci")), IsOk());
  }
  std::string later =
      "team/app@" + publisher_->PushImage("team/app", "new", {"linux", "loong64"}, kOciManifest);
  upstream_.reset();

  NewInspector(config());
  // A proxy does not tell an absent tag from one that it cannot look up.
  EXPECT_THAT(Inspect("team/app:new"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Inspect(later), FailsWith(Code::kUnavailable, HasSubstr("500")));
  int before = registry_requests_;
  EXPECT_THAT(Inspect(later), FailsWith(Code::kUnavailable, HasSubstr("500")));
  EXPECT_EQ(registry_requests_, before);
  EXPECT_THAT(Inspect("team/app:oci"), IsOk());
  EXPECT_THAT(Inspect("team/other:oci"), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Of, DockerRegistryTest, ::testing::ValuesIn(kRegistryPrograms),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Of, TokenRegistryTest, ::testing::ValuesIn(kRegistryPrograms),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Of, PullThroughTest, ::testing::ValuesIn(kRegistryPrograms),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace inspection
