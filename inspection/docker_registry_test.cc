// SPDX-License-Identifier: Apache-2.0
// The inspector against a registry that others wrote: Debian's docker-registry, with a password.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "inspection/registry/auth.h"
#include "inspection/digest.h"
#include "inspection/inspector.h"
#include "inspection/manifest.h"
#include "kube/base/subprocess.h"
#include "kube/http/pool.h"
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

constexpr char kRegistry[] = "/usr/bin/docker-registry";
// bcrypt of "secret".
constexpr char kHtpasswd[] = "u:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

class DockerRegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kRegistry)) GTEST_SKIP() << "SKIPPED: " << kRegistry << " is not installed";
    std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/registry";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/htpasswd") << kHtpasswd;
    std::ofstream(folder + "/config.yml") << "version: 0.1\nstorage: {filesystem: {rootdirectory: " << folder
                                          << "/data}}\nhttp: {addr: '127.0.0.1:0'}\n"
                                          << "auth: {htpasswd: {realm: test, path: " << folder << "/htpasswd}}\n";
    process_ = std::make_unique<kube::Subprocess>(kRegistry, std::vector<std::string>{"serve", folder + "/config.yml"});
    constexpr std::string_view kListening = "listening on 127.0.0.1:";
    ASSERT_TRUE(process_->WaitForOutput(std::string(kListening))) << process_->output();
    // The line may not have come whole.
    size_t at = process_->output().find(kListening) + kListening.size();
    ASSERT_TRUE(process_->output().find_first_not_of("0123456789", at) != std::string::npos ||
                process_->WaitForOutput("\n"));
    port_ = process_->output().substr(at, process_->output().find_first_not_of("0123456789", at) - at);
    kube::Origin origin{.scheme = "http", .host = "127.0.0.1", .port = port_};
    pool_ = kube::HttpPool::New(io_.get_executor(), kube::RealClock(), origin, {});

    inspector_ = NewImageInspector(io_.get_executor(), kube::RealClock());
    InspectorConfig config{.registries_conf = "[[registry]]\nlocation = \"" + host() + "\"\ninsecure = true\n"};
    ASSERT_THAT(inspector_->SetConfig(config), IsOk());
    ASSERT_THAT(keyring_.AddSecret("ns/s", kDockerConfigJsonType,
                                   R"({"auths":{")" + host() + R"(":{"username":"u","password":"secret"}}})"),
                IsOk());
  }

  std::string host() const { return "127.0.0.1:" + port_; }

  kube::HttpResponse Send(std::string method, std::string target, std::string body, std::string_view type) {
    kube::HttpRequest request{.method = std::move(method), .target = std::move(target), .body = std::move(body)};
    request.headers = {{"Authorization", BasicAuthorization("u", "secret")}, {"Content-Type", std::string(type)}};
    Result<kube::HttpResponse> response = kube::Run(io_, pool_->Call(std::move(request)));
    EXPECT_THAT(response, IsOk());
    return response ? *response : kube::HttpResponse();
  }
  std::string PushBlob(const std::string& repository, const std::string& content) {
    std::string digest = Sha256Digest(content);
    std::string location(Send("POST", "/v2/" + repository + "/blobs/uploads/", "", "").Header("Location"));
    std::string target = location.substr(location.find("/v2/")) + "&digest=" + digest;
    EXPECT_EQ(Send("PUT", target, content, "application/octet-stream").status, 201);
    return digest;
  }
  // "digest":…,"size":… of what was pushed.
  std::string Push(const std::string& repository, const std::string& tag, const std::string& content,
                   std::string_view type) {
    std::string digest = Sha256Digest(content);
    std::string version = tag.empty() ? digest : tag;
    EXPECT_EQ(Send("PUT", "/v2/" + repository + "/manifests/" + version, content, type).status, 201);
    return R"("digest":")" + digest + R"(","size":)" + std::to_string(content.size());
  }
  std::string PushImage(const std::string& repository, const std::string& tag, const std::string& architecture,
                        std::string_view type) {
    std::string config = R"({"os":"linux","architecture":")" + architecture + R"(","rootfs":{"type":"layers"}})";
    std::string config_type = type == kOciManifest ? "application/vnd.oci.image.config.v1+json"
                                                   : "application/vnd.docker.container.image.v1+json";
    std::string manifest = R"({"schemaVersion":2,"mediaType":")" + std::string(type) + R"(","config":{"mediaType":")" +
                           config_type + R"(","digest":")" + PushBlob(repository, config) + R"(","size":)" +
                           std::to_string(config.size()) + R"(},"layers":[]})";
    return Push(repository, tag, manifest, type);
  }
  void PushIndex(const std::string& repository, const std::string& tag, std::string_view type, std::string_view image) {
    std::string entries;
    for (const char* architecture : {"amd64", "ppc64le"}) {
      entries += (entries.empty() ? "" : ",") + (R"({"mediaType":")" + std::string(image) + "\"," +
                 PushImage(repository, "", architecture, image) + R"(,"platform":{"os":"linux","architecture":")" +
                 architecture + R"("}})");
    }
    Push(repository, tag,
         R"({"schemaVersion":2,"mediaType":")" + std::string(type) + R"(","manifests":[)" + entries + "]}", type);
  }

  Result<ArchitectureSet> Inspect(const std::string& image, bool always_pull = false) {
    ImageRequest request{.image = host() + "/" + image, .always_pull = always_pull, .keyring = keyring_};
    return kube::Run(io_, inspector_->Architectures(std::move(request)));
  }

  kube::asio::io_context io_;
  std::unique_ptr<kube::Subprocess> process_;
  std::string port_;
  std::unique_ptr<kube::HttpPool> pool_;
  std::unique_ptr<ImageInspector> inspector_;
  Keyring keyring_;
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

TEST_F(DockerRegistryTest, AMovedTagIsSeenByThoseWhoAlwaysPull) {
  PushImage("app", "1", "amd64", kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  uint64_t before = inspector_->stats().requests;
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("amd64"));
  EXPECT_EQ(inspector_->stats().requests, before + 1);
  PushImage("app", "1", "arm64", kOciManifest);
  EXPECT_THAT(*Inspect("app:1", true), ElementsAre("arm64"));
}

TEST_F(DockerRegistryTest, WithoutThePasswordThereIsNoAnswer) {
  PushImage("app", "1", "amd64", kOciManifest);
  keyring_ = Keyring();
  EXPECT_THAT(Inspect("app:1"), FailsWith(Code::kUnauthenticated));
}

TEST_F(DockerRegistryTest, AnAbsentImageIsNotFound) { EXPECT_THAT(Inspect("app:absent"), FailsWith(Code::kNotFound)); }

}  // namespace
}  // namespace inspection
