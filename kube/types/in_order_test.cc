// SPDX-License-Identifier: Apache-2.0
#include "kube/types/in_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kube/types/core.pb.h"

namespace kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(InOrderTest, SortsByKey) {
  core::ConfigMap map;
  EXPECT_THAT(InOrder(map.data()), IsEmpty());
  for (const char* key : {"c", "a", "d", "b"}) {
    (*map.mutable_data())[key] = std::string("text of ") + key;
    (*map.mutable_binary_data())[key] = key;
  }
  for (int i = 0; i < 5; ++i) {
    core::ConfigMap copy = map;
    EXPECT_THAT(InOrder(copy.data()), ElementsAre(Pair("a", "text of a"), Pair("b", "text of b"),
                                                  Pair("c", "text of c"), Pair("d", "text of d")));
    EXPECT_THAT(InOrder(copy.binary_data()),
                ElementsAre(Pair("a", "a"), Pair("b", "b"), Pair("c", "c"), Pair("d", "d")));
  }
}

}  // namespace
}  // namespace kube
