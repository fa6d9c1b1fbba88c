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

TEST(PlatformsTest, BuildsOfWindowsAreThoseInCommon) {
  SharedPlatforms old = Image({{"windows", "amd64", "10.0.17763"}});
  SharedPlatforms both =
      Image({{"windows", "amd64", "10.0.17763"}, {"windows", "amd64", "10.0.20348"}});
  SharedPlatforms any = Image({{"windows", "amd64"}});
  SharedPlatforms partly = Image({{"windows", "amd64"}, {"windows", "amd64", "10.0.20348"}});
  EXPECT_THAT(CommonOf({both}).windows_builds, ElementsAre("10.0.17763", "10.0.20348"));
  EXPECT_THAT(CommonOf({both, any, old}).windows_builds, ElementsAre("10.0.17763"));
  EXPECT_THAT(CommonOf({partly}).windows_builds, IsEmpty());
  // With Hyper-V isolation they can still run.
  CommonPlatforms different = CommonOf({old, Image({{"windows", "amd64", "10.0.20348"}})});
  EXPECT_THAT(different.windows_builds, IsEmpty());
  EXPECT_THAT(different.On("windows"), ElementsAre("amd64"));
  // None of the pod's images runs on Windows in the end.
  SharedPlatforms linux = Image({{"linux", "amd64"}});
  EXPECT_THAT(CommonOf({linux}).windows_builds, IsEmpty());
}

}  // namespace
}  // namespace placement
