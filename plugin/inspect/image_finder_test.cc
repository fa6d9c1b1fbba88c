// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/image_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "api/testing/make_config.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/base/clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/run.h"

namespace plugin {
namespace {

using kube::MakePod;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOperator[] = "operator";

class ImageFinderTest : public inspection::RegistryFixture {
 protected:
  ImageFinderTest() {
    api_.CreateJson(
        kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
        api::MakeClusterConfig().Set("/spec/registriesConfigMapRef/name", "registries").Build());
    kube::core::ConfigMap registries;
    registries.mutable_metadata()->set_namespace_(kOperator);
    registries.mutable_metadata()->set_name("registries");
    (*registries.mutable_data())["registries.conf"] =
        inspection::InsecureRegistriesConf(registry_.host());
    api_.Create(registries);
  }
  void PutIndex(const std::string& tag, const std::vector<std::string>& architectures) {
    std::vector<inspection::Platform> platforms;
    for (const std::string& architecture : architectures)
      platforms.push_back({"linux", architecture});
    registry_.PutIndex("app", tag, platforms);
  }
  void CreateSecret(const std::string& user, const std::string& password) {
    kube::core::Secret secret;
    secret.mutable_metadata()->set_namespace_("shop");
    secret.mutable_metadata()->set_name("key");
    secret.set_type(std::string(inspection::kDockerConfigJsonType));
    (*secret.mutable_data())[".dockerconfigjson"] = R"({"auths":{")" + registry_.host() +
                                                    R"(":{"username":")" + user +
                                                    R"(","password":")" + password + R"("}}})";
    api_.Create(secret);
  }
  MakePod Pod(const std::string& tag) {
    return MakePod("web").Namespace("shop").Image(registry_.host() + "/app:" + tag);
  }
  ImageFinder& finder(bool asks = true) {
    if (!finder_)
      finder_.emplace(api_, io_.get_executor(), kube::RealClock(),
                      ImageFinderOptions{.operator_namespace = kOperator, .asks_registries = asks});
    return *finder_;
  }
  std::vector<PodImage> Find(const kube::core::Pod& pod) {
    return *kube::Run(io_, finder().Find(pod, known_));
  }

  kube::FakeApiServer api_{kube::RealClock()};
  KnownImages known_;
  std::optional<ImageFinder> finder_;
};

TEST_F(ImageFinderTest, AsksARegistryOnceWithThePodsSecrets) {
  PutIndex("1", {"amd64", "arm64"});
  registry_.RequireBasic("ann", "secret");
  CreateSecret("ann", "secret");
  kube::core::Pod pod = Pod("1").PullSecret("key");
  for (int i = 0; i < 2; ++i) {
    std::vector<PodImage> found = Find(pod);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_TRUE(found[0].platforms != nullptr) << found[0].source;
    EXPECT_EQ(found[0].source, "the registry says so");
  }
  EXPECT_EQ(registry_.Count("manifests/1"), 2);  // the challenge, and the answer to it
  EXPECT_THAT(finder().unread(), IsEmpty());

  // Another pod has not that secret.
  std::vector<PodImage> found = Find(Pod("1"));
  EXPECT_EQ(found[0].platforms, nullptr);
  EXPECT_THAT(found[0].source, HasSubstr("401"));
}

TEST_F(ImageFinderTest, WhatMayNotBeReadIsNamed) {
  PutIndex("1", {"amd64"});
  api_.FailNext(kube::Error::PermissionDenied("secrets is forbidden"), "/secrets/", 9);
  std::vector<PodImage> found = Find(Pod("1").PullSecret("key"));
  EXPECT_TRUE(found[0].platforms != nullptr);
  ASSERT_THAT(finder().unread(), SizeIs(1));
  EXPECT_EQ(finder().unread()[0].what, "pull secrets of shop");
}

TEST_F(ImageFinderTest, OfflineNobodyIsAsked) {
  PutIndex("1", {"amd64"});
  finder(/*asks=*/false);
  EXPECT_EQ(Find(Pod("1"))[0].platforms, nullptr);
  EXPECT_THAT(registry_.log(), IsEmpty());
}

TEST_F(ImageFinderTest, TheNewestTagWithTheArchitecture) {
  PutIndex("1.2", {"amd64"});
  PutIndex("1.3", {"amd64", "arm64"});
  PutIndex("1.4", {"amd64", "arm64"});
  PutIndex("1.5", {"amd64"});
  PutIndex("2.0-slim", {"amd64", "arm64"});
  auto newer = [&](const std::string& tag, const std::string& architecture) {
    std::string image = registry_.host() + "/app:" + tag, of = architecture;
    return *kube::Run(io_, finder().FindNewer(Pod(tag), std::move(image), std::move(of)));
  };
  EXPECT_EQ(newer("1.2", "arm64"), registry_.host() + "/app:1.4");
  EXPECT_EQ(newer("1.4", "s390x"), "");
  // By digest there is no tag to compare with.
  EXPECT_EQ(newer("latest", "arm64"), "");
}

}  // namespace
}  // namespace plugin
