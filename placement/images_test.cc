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
                            .InitImage("c:1")
                            .Image("");
  EXPECT_THAT(ImagesOf(pod), ElementsAre(ContainerImage{"a:1", true}, ContainerImage{"b:1"},
                                         ContainerImage{"c:1"}));
  EXPECT_THAT(ImagesOf(kube::core::Pod()), IsEmpty());
}

TEST(ImagesTest, OneContainerThatMayPullIsEnough) {
  kube::core::Pod pod =
      MakePod("web").Image("a:1", "Never").Image("a:1", "Never").Image("b:1", "Never").Image("b:1");
  EXPECT_THAT(ImagesOf(pod), ElementsAre(ContainerImage{.reference = "a:1", .never_pull = true},
                                         ContainerImage{"b:1"}));
}

TEST(ImagesTest, OneContainerThatAlwaysPullsIsEnough) {
  kube::core::Pod pod =
      MakePod("web").Image("a:1").InitImage("a:1", "Always").Image("a:1", "Never");
  EXPECT_THAT(ImagesOf(pod), ElementsAre(ContainerImage{"a:1", true}));
}

void AddVolume(kube::core::Pod& pod, const std::string& reference, const std::string& policy) {
  kube::core::ImageVolumeSource& image =
      *pod.mutable_spec()->add_volumes()->mutable_source()->mutable_image();
  image.set_reference(reference);
  image.set_pull_policy(policy);
}

TEST(ImagesTest, VolumesMayBeImages) {
  kube::core::Pod pod = MakePod("web").Image("run:1");
  pod.mutable_spec()->add_volumes()->set_name("a volume of another kind");
  AddVolume(pod, "", "Always");
  AddVolume(pod, "run:1", "Always");
  AddVolume(pod, "data:1", "IfNotPresent");
  AddVolume(pod, "data:2", "Always");
  EXPECT_THAT(
      ImagesOf(pod),
      ElementsAre(ContainerImage{.reference = "data:1", .only_volume = true},
                  ContainerImage{.reference = "data:2", .always_pull = true, .only_volume = true},
                  ContainerImage{.reference = "run:1", .always_pull = true}));
}

}  // namespace
}  // namespace placement
