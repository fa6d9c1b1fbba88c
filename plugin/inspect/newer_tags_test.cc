// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/newer_tags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NewerTagsTest, TheSameKindOfVersion) {
  const std::vector<std::string> tags = {"latest",   "1.2",      "1.10",        "1.9.1",
                                         "v2",       "2-alpine", "1.27-alpine", "1.30.1-alpine",
                                         "1.4-rc.1", "20260101", "main"};
  EXPECT_THAT(NewerTags("1.3", tags, 9), ElementsAre("20260101", "1.10", "1.9.1"));
  EXPECT_THAT(NewerTags("1.3", tags, 2), ElementsAre("20260101", "1.10"));
  EXPECT_THAT(NewerTags("1.27.3-alpine", tags, 9), ElementsAre("2-alpine", "1.30.1-alpine"));
  EXPECT_THAT(NewerTags("v1.0", tags, 9), ElementsAre("v2"));
  EXPECT_THAT(NewerTags("latest", tags, 9), IsEmpty());
  EXPECT_THAT(NewerTags("", tags, 9), IsEmpty());
}

TEST(NewerTagsTest, HostileTags) {
  const std::vector<std::string> tags = {"",     ".",  "1.", "99999999999999999999",
                                         "1..2", "-1", "1.x"};
  EXPECT_THAT(NewerTags("1.0", tags, 9), IsEmpty());
  EXPECT_THAT(NewerTags("1.", {"2."}, 9), ElementsAre("2."));
}

}  // namespace
}  // namespace plugin
