// SPDX-License-Identifier: Apache-2.0
// The inspector with Debian's docker-registry, which asks for a password.
#include "inspection/testing/docker_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>

#include "inspection/base/manifest.h"
#include "inspection/inspector.h"
#include "inspection/registry/auth.h"
#include "inspection/testing/on_linux.h"
#include "inspection/testing/registry_fixture.h"
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

class DockerRegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kDockerRegistryProgram)) {
      GTEST_SKIP() << "SKIPPED: " << kDockerRegistryProgram << " is not installed";
    }
    std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/registry";
    registry_ = std::make_unique<DockerRegistry>(
        DockerRegistryOptions{.folder = folder, .storage = folder + "/data", .password = true});
    publisher_ =
        std::make_unique<Publisher>(io_, registry_->port(), BasicAuthorization("u", "secret"));
    InspectorOptions options;
    options.trace = [this](const std::string& line) {
      if (line.find("/v2/") != std::string::npos) ++registry_requests_;
    };
    inspector_ = NewImageInspector(io_.get_executor(), kube::RealClock(), options);
    InspectorConfig config{.registries_conf = InsecureRegistriesConf(host())};
    ASSERT_THAT(inspector_->SetConfig(config), IsOk());
    keyring_ = NewKeyring(host(), "u", "secret");
  }

  std::string host() const { return registry_->host(); }
  void PushImage(const std::string& repository, const std::string& tag,
                 const std::string& architecture, std::string_view type) {
    publisher_->PushImage(repository, tag, {"linux", architecture}, type);
  }
  void PushIndex(const std::string& repository, const std::string& tag, std::string_view type,
                 std::string_view image) {
    std::vector<std::string> entries;
    for (const char* architecture : {"amd64", "ppc64le"}) {
      entries.push_back(publisher_->PushEntry(repository, {"linux", architecture}, image));
    }
    publisher_->PushIndex(repository, tag, entries, type);
  }

  Result<ArchitectureSet> Inspect(const std::string& image, bool always_pull = false) {
    ImageRequest request{
        .image = host() + "/" + image, .always_pull = always_pull, .keyring = keyring_};
    return OnLinux(kube::Run(io_, inspector_->Inspect(std::move(request))));
  }

  kube::asio::io_context io_;
  std::unique_ptr<DockerRegistry> registry_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<ImageInspector> inspector_;
  SharedKeyring keyring_;
  int registry_requests_ = 0;
};

TEST_F(DockerRegistryTest, EveryKindOfImageIsRead) {
  PushImage("team/app", "oci", "arm64", kOciManifest);
  PushImage("team/app", "docker", "s390x", kDockerManifest);
  PushIndex("team/app", "index", kOciIndex, kOciManifest);
  PushIndex("team/app", "list", kDockerList, kDockerManifest);
  for (auto [tag, wanted] : {std::pair<std::string, ArchitectureSet>{"oci", {"arm64"}},
                             {"docker", {"s390x"}},
                             {"index", {"amd64", "ppc64le"}},
                             {"list", {"amd64", "ppc64le"}}}) {
    Result<ArchitectureSet> got = Inspect("team/app:" + tag);
    ASSERT_THAT(got, IsOk()) << tag;
    EXPECT_EQ(*got, wanted) << tag;
  }
}

TEST_F(DockerRegistryTest, AlwaysPullDetectsAMovedTag) {
  PushImage("app", "1", "amd64", kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  int before = registry_requests_;
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  EXPECT_EQ(registry_requests_, before + 1);
  PushImage("app", "1", "arm64", kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("arm64"));
}

TEST_F(DockerRegistryTest, WithoutThePasswordAccessIsRefused) {
  PushImage("app", "1", "amd64", kOciManifest);
  keyring_.reset();
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnauthenticated));
}

TEST_F(DockerRegistryTest, AnAbsentImageIsNotFound) {
  EXPECT_THAT(Inspect("app:absent"), FailsWith(Code::kNotFound));
}

}  // namespace
}  // namespace inspection
