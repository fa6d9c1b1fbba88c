// SPDX-License-Identifier: Apache-2.0
#include "placement/judged_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

JudgedImage Image(std::vector<Platform> platforms, ArchitectureSet wrong = {}) {
  ImagePlatforms image{.platforms = std::move(platforms)};
  return {std::make_shared<const ImagePlatforms>(std::move(image)), std::move(wrong)};
}
const Platform kLinuxAmd64{"linux", "amd64"};
const Platform kLinuxArm64{"linux", "arm64"};
const Platform kLinuxS390x{"linux", "s390x"};
const Platform kWindowsAmd64{"windows", "amd64"};

JudgedPlatforms Judge(std::vector<JudgedImage> images) { return CommonOf(images); }

TEST(JudgedImages, WithoutFindingsIndexesDecide) {
  JudgedPlatforms judged = Judge({Image({kLinuxAmd64, kLinuxArm64}), Image({kLinuxArm64})});
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("arm64"));
  EXPECT_THAT(judged.avoided, IsEmpty());
  EXPECT_FALSE(judged.believes_indexes);
}

TEST(JudgedImages, AnArchitectureWithAFindingIsLeftOut) {
  JudgedPlatforms judged = Judge({Image({kLinuxAmd64, kLinuxArm64, kLinuxS390x}, {"arm64"}),
                                  Image({kLinuxAmd64, kLinuxArm64})});
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("amd64"));
  EXPECT_THAT(judged.avoided, ElementsAre("arm64"));
  EXPECT_FALSE(judged.believes_indexes);
}

// Nothing is avoided that another image rules out anyway.
TEST(JudgedImages, AFindingThatChangesNothingIsNotNamed) {
  JudgedPlatforms judged =
      Judge({Image({kLinuxAmd64, kLinuxArm64}, {"arm64"}), Image({kLinuxAmd64})});
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("amd64"));
  EXPECT_THAT(judged.avoided, IsEmpty());
}

TEST(JudgedImages, IndexesAreBelievedIfFindingsLeaveNothing) {
  JudgedPlatforms judged = Judge(
      {Image({kLinuxAmd64, kLinuxArm64}, {"arm64"}), Image({kLinuxAmd64, kLinuxArm64}, {"amd64"})});
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(judged.avoided, ElementsAre("amd64", "arm64"));
  EXPECT_TRUE(judged.believes_indexes);
}

// A pod that waits for ever for such a node is no better than one that fails.
TEST(JudgedImages, AnArchitectureWithoutNodesIsNotLeft) {
  const std::vector<JudgedImage> images = {Image({kLinuxAmd64, kLinuxArm64}, {"amd64"})};
  JudgedPlatforms judged = CommonOf(images, {"amd64"});
  EXPECT_TRUE(judged.believes_indexes);
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("amd64", "arm64"));
  for (const ArchitectureSet& offered :
       {ArchitectureSet{"amd64", "arm64"}, ArchitectureSet{"s390x"}, ArchitectureSet{}}) {
    judged = CommonOf(images, offered);
    EXPECT_FALSE(judged.believes_indexes);
    EXPECT_THAT(judged.common.On("linux"), ElementsAre("arm64"));
  }
}

// A pod for windows keeps its architectures, and so does one for linux beside it.
TEST(JudgedImages, FindingsAreOfLinux) {
  JudgedPlatforms judged = Judge({Image({kLinuxAmd64, kLinuxArm64, kWindowsAmd64}, {"amd64"})});
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("arm64"));
  EXPECT_THAT(judged.common.On("windows"), ElementsAre("amd64"));
  judged = Judge({Image({kWindowsAmd64}, {"amd64"})});
  EXPECT_THAT(judged.common.On("windows"), ElementsAre("amd64"));
  EXPECT_FALSE(judged.believes_indexes);
}

TEST(JudgedImages, AProgramMayNeedAHigherLevelThanTheIndexSays) {
  JudgedImage image = Image({kLinuxAmd64, kLinuxArm64});
  image.amd64_level = 3;
  JudgedPlatforms judged = Judge({image, Image({kLinuxAmd64, kLinuxArm64})});
  EXPECT_EQ(judged.common.amd64_level, 3);
  EXPECT_THAT(judged.common.On("linux"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(judged.avoided, IsEmpty());
  image.platforms = Image({{"linux", "amd64", "", 4}}).platforms;
  EXPECT_EQ(Judge({image}).common.amd64_level, 4) << "the index says more";
}

TEST(JudgedImages, ImagesThatNeverRunCountForEverything) {
  JudgedImage bundle{std::make_shared<const ImagePlatforms>(ImagePlatforms{.every = true}),
                     {"amd64"}};
  EXPECT_TRUE(Judge({bundle}).common.every);
  EXPECT_THAT(Judge({bundle, Image({kLinuxAmd64})}).common.On("linux"), ElementsAre("amd64"));
}

}  // namespace
}  // namespace placement
