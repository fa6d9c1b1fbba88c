// SPDX-License-Identifier: Apache-2.0
#include "operator/routes.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace operator_ {
namespace {

TEST(RoutesTest, EveryEventHasOneAndNoneIsListedTwice) {
  std::set<Event> events;
  std::set<std::pair<Event, Target>> routes;
  for (const Route& route : kRoutes) {
    events.insert(route.event);
    EXPECT_TRUE(routes.emplace(route.event, route.target).second)
        << static_cast<int>(route.event) << " " << static_cast<int>(route.target);
  }
  EXPECT_EQ(events.size(), static_cast<size_t>(Event::kClusterObject) + 1);
}

}  // namespace
}  // namespace operator_
