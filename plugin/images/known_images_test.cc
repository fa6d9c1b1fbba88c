// SPDX-License-Identifier: Apache-2.0
#include "plugin/images/known_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "exec-format/findings/image_finding.h"
#include "image-facts/image_facts.h"
#include "kube/testing/make_pod.h"
#include "plugin/images/pod_image.h"

namespace plugin {
namespace {

using image_facts::FactIndex;
using image_facts::ImageFact;
using image_facts::ImageFacts;
using image_facts::Seconds;
using namespace std::chrono_literals;

const std::string kDigest = "sha256:" + std::string(64, 'a');

placement::SharedPlatforms On(const std::string& architecture) {
  return std::make_shared<placement::ImagePlatforms>(
      placement::ImagePlatforms{.platforms = {{.os = "linux", .architecture = architecture}}});
}

KnownImages Known(std::vector<ImageFact> facts) {
  ImageFacts object;
  object.facts = std::move(facts);
  KnownImages known;
  known.Add(*FactIndex::FromJson(object.ToJson()));
  return known;
}

std::string ArchitectureOf(const std::optional<KnownImages::Fact>& fact) {
  return fact ? fact->platforms->platforms.at(0).architecture : "";
}

TEST(KnownImagesTest, NamesAreThoseOfTheRegistry) {
  KnownImages known =
      Known({{"docker.io/library/nginx:latest", kDigest, On("arm64"), Seconds(5s)}});
  kube::core::Pod pod = kube::MakePod("web").Namespace("shop").ServiceAccount("default");
  EXPECT_EQ(ArchitectureOf(known.Find("nginx", pod)), "arm64");
  EXPECT_EQ(known.Find("nginx", pod)->read, Seconds(5s));
  EXPECT_EQ(known.Find("nginx:2", pod), std::nullopt);
  EXPECT_EQ(known.Find("no such name!", pod), std::nullopt);
}

TEST(KnownImagesTest, TheNewestFactThatCountsForThePod) {
  KnownImages known = Known({{"r.io/app:1", kDigest, On("amd64"), Seconds(1s)},
                             {"r.io/app:1", kDigest, On("arm64"), Seconds(3s), "*"},
                             {"r.io/app:1", kDigest, On("s390x"), Seconds(9s), "shop web key"}});
  kube::core::Pod pod = kube::MakePod("web").Namespace("shop").ServiceAccount("default");
  EXPECT_EQ(ArchitectureOf(known.Find("r.io/app:1", pod)), "arm64");
  pod.mutable_spec()->set_service_account_name("web");
  pod.mutable_spec()->add_image_pull_secrets()->set_name("key");
  EXPECT_EQ(ArchitectureOf(known.Find("r.io/app:1", pod)), "s390x");
  pod.mutable_metadata()->set_namespace_("bank");
  EXPECT_EQ(ArchitectureOf(known.Find("r.io/app:1", pod)), "arm64");
}

TEST(KnownImagesTest, FindingsCountForTheirNamespaceUnlessTheyAreIgnored) {
  auto finding = [](const std::string& architecture, const std::string& ns, bool ignored) {
    exec_format::ImageFinding made;
    made.image = "docker.io/library/nginx:1";
    made.architecture = architecture;
    made.ns = ns;
    made.ignored = ignored;
    made.path = "/app";
    made.machine = "amd64";
    return made;
  };
  KnownImages known;
  known.Add(finding("arm64", "", false));
  known.Add(finding("arm64", "team-a", false));
  known.Add(finding("s390x", "team-a", false));
  known.Add(finding("ppc64le", "", true));
  PodImage image{.image = "nginx:1", .platforms = nullptr, .source = ""};
  known.Judge(image, "team-b");
  EXPECT_THAT(image.wrong, testing::ElementsAre("arm64"));
  EXPECT_EQ(image.finding, "not on arm64: the program /app is built for amd64");
  known.Judge(image, "team-a");
  EXPECT_THAT(image.wrong, testing::ElementsAre("arm64", "s390x"));
  PodImage other{.image = "nginx:2", .platforms = nullptr, .source = ""};
  known.Judge(other, "team-a");
  EXPECT_EQ(other.finding, "");
}

}  // namespace
}  // namespace plugin
