// SPDX-License-Identifier: Apache-2.0
#include "placement/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ImagesTest, ListsEachImageOnce) {
  kube::core::Pod pod = MakePod("web")
                            .Image("b:1", "IfNotPresent")
                            .Image("a:1", "Always")
                            .InitImage("b:1")
                            .InitImage("c:1", "Never")
                            .Image("");
  EXPECT_THAT(ImagesOf(pod), ElementsAre(ContainerImage{"a:1", true}, ContainerImage{"b:1", false},
                                         ContainerImage{"c:1", false}));
  EXPECT_THAT(ImagesOf(kube::core::Pod()), IsEmpty());
}

TEST(ImagesTest, OneContainerThatAlwaysPullsIsEnough) {
  kube::core::Pod pod =
      MakePod("web").Image("a:1").InitImage("a:1", "Always").Image("a:1", "Never");
  EXPECT_THAT(ImagesOf(pod), ElementsAre(ContainerImage{"a:1", true}));
}

TEST(ImagesTest, KnowsTheOperatingSystem) {
  EXPECT_EQ(OperatingSystemOf(MakePod("web")), "linux");
  EXPECT_EQ(OperatingSystemOf(MakePod("web").NodeSelector("kubernetes.io/os", "windows")),
            "windows");
  EXPECT_EQ(OperatingSystemOf(MakePod("web").Os("windows")), "windows");
  EXPECT_EQ(
      OperatingSystemOf(MakePod("web").Os("windows").NodeSelector("kubernetes.io/os", "linux")),
      "windows");
}

}  // namespace
}  // namespace placement
