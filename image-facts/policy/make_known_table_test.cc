// SPDX-License-Identifier: Apache-2.0
// What the API server makes of it: e2e/flows/gating_policies.cc.
#include "image-facts/policy/make_known_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "api/known_images.h"
#include "api/names.h"
#include "api/testing/make_config.h"
#include "image-facts/testing/make_facts.h"

namespace image_facts {
namespace {

using api::MakeClusterConfig;
using operator_::kMaxLetters;
using operator_::KnownTable;
using operator_::TablePlacement;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

KnownImage Known(std::string image, const placement::ArchitectureSet& architectures) {
  return {std::move(image), OnLinux(architectures)};
}

KnownTable Table(const std::vector<KnownImage>& images,
                 const api::ClusterPodPlacementConfig& config = MakeClusterConfig()) {
  return MakeKnownTable(images, config);
}

// The architectures that a combination requires.
std::string RequiredBy(const KnownTable& table, const std::string& letters) {
  auto found = table.combinations.find(letters);
  if (found == table.combinations.end()) return "gated";
  const kube::Json& affinity = table.placements.at(found->second).node_affinity;
  const kube::Json* terms =
      kube::Find(affinity, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  std::string text;
  for (const kube::Json& value : (*terms)[0]["matchExpressions"][0]["values"])
    text += (text.empty() ? "" : " ") + value.get<std::string>();
  return text;
}

TEST(MakeKnownTableTest, ImagesOfDockerHubHaveShortNamesToo) {
  EXPECT_THAT(SpellingsOf("docker.io/library/nginx:1"),
              ElementsAre("docker.io/library/nginx:1", "nginx:1"));
  EXPECT_THAT(SpellingsOf("docker.io/a/b:1"), ElementsAre("docker.io/a/b:1", "a/b:1"));
  EXPECT_THAT(SpellingsOf("r.io/docker.io/a:1"), ElementsAre("r.io/docker.io/a:1"));
}

TEST(MakeKnownTableTest, APodGetsWhatItsImagesHaveInCommon) {
  KnownTable table =
      Table({Known("r.io/two:1", {"amd64", "arm64"}), Known("r.io/z:1", {"amd64", "s390x"}),
             Known("r.io/same:1", {"amd64", "arm64"}), Known("r.io/p:1", {"ppc64le"})});
  EXPECT_THAT(table.images, ElementsAre(Pair("r.io/p:1", 'c'), Pair("r.io/same:1", 'a'),
                                        Pair("r.io/two:1", 'a'), Pair("r.io/z:1", 'b')));
  EXPECT_EQ(RequiredBy(table, "a"), "amd64 arm64");
  EXPECT_EQ(RequiredBy(table, "b"), "amd64 s390x");
  EXPECT_EQ(RequiredBy(table, "ab"), "amd64");
  EXPECT_EQ(RequiredBy(table, "c"), "ppc64le");
  // Its author gets an event.
  EXPECT_EQ(RequiredBy(table, "ac"), "gated");
  EXPECT_EQ(RequiredBy(table, "abc"), "gated");
  // Equal ones are there once.
  EXPECT_THAT(table.placements, SizeIs(4));
}

TEST(MakeKnownTableTest, APlacementIsThatOfTheClusterController) {
  KnownTable table =
      Table({Known("r.io/two:1", {"amd64", "arm64"})}, MakeClusterConfig().Prefer("arm64", 7));
  ASSERT_THAT(table.placements, SizeIs(1));
  const TablePlacement& placement = table.placements[0];
  EXPECT_EQ(placement.node_affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["weight"],
            7);
  EXPECT_EQ(placement.labels.at(std::string(api::kPlacedAtCreationLabel)), "");
  EXPECT_EQ(placement.labels.at(std::string(api::kNodeAffinityLabel)), api::kSet);
  EXPECT_EQ(placement.labels.at(std::string(api::kClusterGateLabel)), api::kNotSet);
  EXPECT_EQ(placement.labels.at(std::string(api::kMultiArchLabel)), "");
  EXPECT_EQ(placement.annotations.at(std::string(api::kPreferredAffinitySourcesAnnotation)),
            "arm64:7:ClusterPodPlacementConfig");
}

TEST(MakeKnownTableTest, WithTolerationsOfTheClusterNothingIsPlaced) {
  KnownTable table = Table({Known("r.io/two:1", {"amd64"})}, MakeClusterConfig().Tolerate());
  EXPECT_TRUE(table.empty());
  EXPECT_THAT(table.combinations, IsEmpty());
}

TEST(MakeKnownTableTest, TheMostFrequentPlatformsHaveLetters) {
  std::vector<KnownImage> images;
  for (int i = 0; i < 20; ++i)
    images.push_back(Known("r.io/odd" + std::to_string(i) + ":1", {"odd" + std::to_string(i)}));
  images.push_back(Known("r.io/z1:1", {"amd64"}));
  images.push_back(Known("r.io/z2:1", {"amd64"}));
  KnownTable table = Table(images);
  EXPECT_THAT(table.images, SizeIs(kMaxLetters + 1));
  EXPECT_EQ(table.images.count("r.io/z1:1"), 1u);
}

// A name goes into an expression.
TEST(MakeKnownTableTest, ANameThatNeedsAnEscapeIsNotKnown) {
  EXPECT_TRUE(Table({Known("r.io/a'b:1", {"amd64"}), Known("r.io/a\\b:1", {"amd64"})}).empty());
  EXPECT_TRUE(Table({}).empty());
}

}  // namespace
}  // namespace image_facts
