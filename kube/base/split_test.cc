// SPDX-License-Identifier: Apache-2.0
#include "kube/base/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitAtCommasTest, SkipsEmptyParts) {
  EXPECT_THAT(SplitAtCommas(""), IsEmpty());
  EXPECT_THAT(SplitAtCommas(","), IsEmpty());
  EXPECT_THAT(SplitAtCommas("a"), ElementsAre("a"));
  EXPECT_THAT(SplitAtCommas("a,b c"), ElementsAre("a", "b c"));
  EXPECT_THAT(SplitAtCommas(",a,,b,"), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace kube
