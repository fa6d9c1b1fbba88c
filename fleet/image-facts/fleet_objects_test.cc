// SPDX-License-Identifier: Apache-2.0
#include "fleet/image-facts/fleet_objects.h"

#include <gtest/gtest.h>

namespace fleet {
namespace {

TEST(FleetObjectsTest, VersionsAreReadFromTheirText) {
  const SharedVersions versions{{"shared-image-facts-0", "12"}, {"shared-image-facts-7", "9"}};
  EXPECT_EQ(ToText(versions), "shared-image-facts-0=12 shared-image-facts-7=9");
  EXPECT_EQ(SharedVersionsFromText(ToText(versions)), versions);
  EXPECT_EQ(SharedVersionsFromText(""), SharedVersions());
}

TEST(FleetObjectsTest, OtherNamesAreLeftOut) {
  EXPECT_EQ(SharedVersionsFromText(" shared-image-facts-8=1  shared-image-facts-1 x=2 "
                                   "image-facts-2=4 shared-image-facts-1=3 "),
            (SharedVersions{{"shared-image-facts-1", "3"}}));
  EXPECT_TRUE(IsPublishedName("image-facts-3"));
  for (const char* name : {"image-facts-4", "shared-image-facts-0", "image-facts-03", "", "other"})
    EXPECT_FALSE(IsPublishedName(name)) << name;
}

}  // namespace
}  // namespace fleet
