// SPDX-License-Identifier: Apache-2.0
#include "placement/platforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placement {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SharedPlatforms Image(std::vector<Platform> platforms) {
  return std::make_shared<const ImagePlatforms>(ImagePlatforms{.platforms = std::move(platforms)});
}
SharedPlatforms Bundle() {
  return std::make_shared<const ImagePlatforms>(ImagePlatforms{.every = true});
}
CommonPlatforms CommonOf(const std::vector<SharedPlatforms>& images) { return Common(images); }

TEST(PlatformsTest, ImagesHaveAnArchitectureInCommonOnOneOperatingSystem) {
  SharedPlatforms both =
      Image({{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "s390x"}, {"windows", "amd64"}});
  CommonPlatforms common = CommonOf({both, Image({{"linux", "arm64"}, {"linux", "s390x"}})});
  EXPECT_THAT(common.On("linux"), ElementsAre("arm64", "s390x"));
  EXPECT_THAT(common.On("windows"), IsEmpty());
  EXPECT_EQ(common.by_os.size(), 1u);
  EXPECT_FALSE(common.every);
  // amd64 is in both, but for different systems.
  EXPECT_THAT(CommonOf({Image({{"linux", "amd64"}}), Image({{"windows", "amd64"}})}).by_os,
              IsEmpty());
}

TEST(PlatformsTest, ImagesThatNeverRunRestrictNothing) {
  EXPECT_EQ(CommonOf({}).On("linux"), AllArchitectures());
  EXPECT_EQ(CommonOf({Bundle(), Bundle()}).On("windows"), AllArchitectures());
  // Not limited to AllArchitectures().
  EXPECT_THAT(CommonOf({Bundle(), Image({{"linux", "riscv64"}}), Bundle()}).On("linux"),
              ElementsAre("riscv64"));
}

TEST(PlatformsTest, OldImagesForWindowsNeedTheirBuild) {
  SharedPlatforms old = Image({{"windows", "amd64", "10.0.17763"}});
  SharedPlatforms two =
      Image({{"windows", "amd64", "10.0.14393"}, {"windows", "amd64", "10.0.17763"}});
  SharedPlatforms stable = Image({{"windows", "amd64", "10.0.20348"}});
  SharedPlatforms any = Image({{"windows", "amd64"}});
  SharedPlatforms both =
      Image({{"windows", "amd64", "10.0.17763"}, {"windows", "amd64", "10.0.20348"}});
  EXPECT_THAT(CommonOf({two}).windows_builds, ElementsAre("10.0.14393", "10.0.17763"));
  EXPECT_THAT(CommonOf({two, any, old, stable}).windows_builds, ElementsAre("10.0.17763"));
  for (const SharedPlatforms& image : {stable, any, both})
    EXPECT_THAT(CommonOf({image}).windows_builds, IsEmpty());
  CommonPlatforms different = CommonOf({old, Image({{"windows", "amd64", "10.0.14393"}})});
  EXPECT_THAT(different.windows_builds, IsEmpty());
  EXPECT_THAT(different.On("windows"), ElementsAre("amd64"));
  EXPECT_THAT(CommonOf({old, Image({{"linux", "amd64"}})}).windows_builds, IsEmpty());
}

TEST(PlatformsTest, NodesHaveTheHighestLevelThatAnImageNeeds) {
  auto amd64 = [](int level) { return Platform{"linux", "amd64", "", level}; };
  SharedPlatforms v3 = Image({amd64(3), amd64(4), {"linux", "arm64"}});
  EXPECT_EQ(CommonOf({v3}).amd64_level, 3);
  EXPECT_THAT(CommonOf({v3}).On("linux"), ElementsAre("amd64", "arm64"));
  EXPECT_EQ(CommonOf({Image({amd64(2)}), v3, Bundle()}).amd64_level, 3);
  // Every node of amd64 runs one of its entries.
  EXPECT_EQ(CommonOf({Image({amd64(0), amd64(3)})}).amd64_level, 0);
  // Not on amd64, or not on linux.
  EXPECT_EQ(CommonOf({v3, Image({{"linux", "arm64"}})}).amd64_level, 0);
  EXPECT_EQ(CommonOf({Image({{"windows", "amd64", "", 3}})}).amd64_level, 0);
}

}  // namespace
}  // namespace placement
