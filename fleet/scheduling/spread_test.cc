// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/spread.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "fleet/scheduling/schedule.h"
#include "fleet/scheduling/testing/world.h"

namespace fleet {
namespace {

// Clusters c1, c2, ... with these values of a label; "" has none.
void Values(World& world, const std::string& key, const std::vector<std::string>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) world.Label("c" + std::to_string(i + 1), key, values[i]);
  }
}

struct Row {
  const char* name;
  size_t clusters;
  std::function<void(World&)> given;
  const char* picks;
  int64_t unscheduled = 0;
};

const Row kRows[] = {
    {"even over two zones", 4,
     [](World& w) {
       Values(w, "zone", {"a", "a", "a", "b"});
       w.N(2).placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c4"},
    {"ScheduleAnyway drops nobody", 4,
     [](World& w) {
       Values(w, "zone", {"a", "a", "a", "b"});
       w.N(4).placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c4 c2 c3"},
    {"a larger skew", 4,
     [](World& w) {
       Values(w, "zone", {"a", "a", "a", "b"});
       w.placement.spec.spread = {{.key = "zone", .max_skew = 2, .do_not_schedule = true}};
     },
     "c1 c4 c2 c3"},
    {"the largest skew", 4,
     [](World& w) {
       Values(w, "zone", {"a", "a", "a", "b"});
       w.placement.spec.spread = {{.key = "zone",
                                   .max_skew = std::numeric_limits<int32_t>::max(),
                                   .do_not_schedule = true}};
     },
     "c1 c4 c2 c3"},
    {"without numberOfClusters, all are wanted", 4,
     [](World& w) {
       Values(w, "zone", {"a", "a", "a", "b"});
       w.placement.spec.spread = {{.key = "zone", .do_not_schedule = true}};
     },
     "c1 c4 c2", 1},
    {"DoNotSchedule needs the key", 4,
     [](World& w) {
       Values(w, "zone", {"a", "", "b", "b"});
       w.placement.spec.spread = {{.key = "zone", .do_not_schedule = true}};
     },
     "c1 c3 c4", 1},
    {"who lacks another key makes no domain", 4,
     [](World& w) {
       Values(w, "zone", {"a", "a", "b", "b"});
       Values(w, "region", {"x", "x", "", ""});
       w.placement.spec.spread = {{.key = "zone", .do_not_schedule = true},
                                  {.key = "region", .do_not_schedule = true}};
     },
     "c1 c2", 2},
    {"ScheduleAnyway without the key counts as even", 4,
     [](World& w) {
       Values(w, "zone", {"", "a", "a", "b"});
       w.placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c2 c4 c3"},
    {"nobody has the key", 3,
     [](World& w) { w.placement.spec.spread = {{.key = "zone", .do_not_schedule = true}}; }, "", 3},
    {"regions before zones", 6,
     [](World& w) {
       Values(w, "region", {"x", "x", "x", "x", "y", "y"});
       Values(w, "zone", {"1", "1", "2", "3", "1", "2"});
       w.N(4).placement.spec.spread = {{.key = "region"}, {.key = "zone"}};
     },
     "c1 c5 c3 c6"},
    {"claims", 4,
     [](World& w) {
       for (const char* name : {"c1", "c2", "c3"}) w.Claim(name, "zone", "a");
       w.Claim("c4", "zone", "b");
       w.N(2).placement.spec.spread = {{.key = "zone", .claim = true}};
     },
     "c1 c4"},
    {"scores against an even spread: W 2 is 400 at most", 3,
     [](World& w) {
       Values(w, "zone", {"a", "a", "b"});
       w.N(2).AddOn(3).Scores({100, 100, 0});
       w.placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c3"},
    {"greater scores win", 3,
     [](World& w) {
       Values(w, "zone", {"a", "a", "b"});
       w.N(2).AddOn(5).Scores({100, 100, 0});
       w.placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c2"},
    {"a tie goes to the first name", 3,
     [](World& w) {
       Values(w, "zone", {"a", "a", "b"});
       w.N(2).AddOn(4).Scores({100, 100, 0});
       w.placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c2"},
    {"Exact has no weight for spread", 3,
     [](World& w) {
       Values(w, "zone", {"a", "a", "b"});
       w.N(2).Exact().placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c2"},
    {"but DoNotSchedule counts", 3,
     [](World& w) {
       Values(w, "zone", {"a", "a", "b"});
       w.N(2).Exact().placement.spec.spread = {{.key = "zone", .do_not_schedule = true}};
     },
     "c1 c3"},
    {"the score of a spread is cut toward zero: -33.3 is -33, which makes a tie", 8,
     [](World& w) {
       Values(w, "zone", {"a", "a", "a", "b", "b", "a", "b", "c"});
       w.N(6).Exact().BuiltIn(kSpread).AddOn(7);
       w.Scores({100, 100, 100, 100, 100, -100, 19, 0});
       w.placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c4 c2 c5 c3 c7"},
    {"a negative weight packs", 4,
     [](World& w) {
       Values(w, "zone", {"a", "b", "b", "a"});
       w.N(2).BuiltIn(kSpread, -1).placement.spec.spread = {{.key = "zone"}};
     },
     "c1 c4"},
};

TEST(SpreadTest, Picks) {
  for (const Row& row : kRows) {
    World world(row.clusters);
    row.given(world);
    Scheduled result = world.Run();
    EXPECT_EQ(Picks(result), row.picks) << row.name;
    EXPECT_EQ(result.unscheduled, row.unscheduled) << row.name;
  }
}

TEST(SpreadTest, ReasonsOfTheDropped) {
  World world(5);
  Values(world, "zone", {"a", "a", "a", "b", ""});
  world.placement.spec.spread = {{.key = "zone", .do_not_schedule = true}};
  EXPECT_EQ(world.Run().rejections.Describe(),
            "1 by Spread (no label zone), 1 by Spread (one more would exceed maxSkew 1 of zone)");
}

}  // namespace
}  // namespace fleet
