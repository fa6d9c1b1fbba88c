// SPDX-License-Identifier: Apache-2.0
#include "image-facts/controller/refresh_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using kube::Duration;
using kube::TimePoint;

class RefreshPlanTest : public testing::Test {
 protected:
  // Asks for what is due until `end`, each answered at once. Returns the images in order.
  std::vector<std::string> AskUntil(TimePoint end) {
    std::vector<std::string> asked;
    while (true) {
      std::optional<TimePoint> due = plan_.NextDue();
      if (!due || *due >= end) break;
      now_ = std::max(now_, *due);
      std::optional<RefreshPlan::Item> item = plan_.TakeDue(now_);
      EXPECT_TRUE(item) << "NextDue() is too early";
      if (!item) break;
      asked.push_back(item->image);
      plan_.Read({item->image, item->scope}, now_);
    }
    now_ = end;
    return asked;
  }
  std::vector<std::string> AskFor(Duration time) { return AskUntil(now_ + time); }

  TimePoint now_{1h};
  RefreshPlan plan_;
};

TEST_F(RefreshPlanTest, ATagIsAskedForAfterItsUse) {
  plan_.Use({"r.io/a:1"}, "team", /*always_pull=*/false, now_);
  EXPECT_EQ(plan_.NextDue(), now_ + kTagPace.every);
  EXPECT_FALSE(plan_.TakeDue(now_ + kTagPace.every - 1ms));
  const size_t times = static_cast<size_t>(kTagPace.first / kTagPace.every);
  EXPECT_EQ(AskFor(24h), std::vector<std::string>(times, "r.io/a:1"));
}

TEST_F(RefreshPlanTest, AUseThatPlansAnEarlierRequestSaysSo) {
  const FactName name{"r.io/a:1"};
  EXPECT_TRUE(plan_.Use(name, "team", false, now_));
  EXPECT_FALSE(plan_.Use(name, "team", false, now_));
  EXPECT_TRUE(plan_.Use(name, "team", true, now_));
  EXPECT_FALSE(plan_.Use(name, "team", false, now_));
  // The last request of the time was made: none is planned until it is used again.
  now_ += kShortPace.first - 1s;
  plan_.Read(name, now_);
  EXPECT_FALSE(plan_.NextDue());
  EXPECT_TRUE(plan_.Use(name, "team", true, now_));
  EXPECT_EQ(plan_.NextDue(), now_ + kShortPace.every);
}

TEST_F(RefreshPlanTest, AnotherAnswerDelaysIt) {
  plan_.Use({"r.io/a:1"}, "team", false, now_);
  plan_.Read({"r.io/a:1"}, now_ + 5min);
  plan_.Read({"r.io/other:1"}, now_ + 5min);
  EXPECT_EQ(plan_.NextDue(), now_ + 5min + kTagPace.every);
  EXPECT_EQ(plan_.size(), 1U);
}

TEST_F(RefreshPlanTest, WhatIsUsedAgainIsAskedForLonger) {
  // Each use comes a minute after pods are gated again.
  Duration window = kTagPace.first;
  size_t gates = 0;
  for (TimePoint end = now_ + 24h * 7; now_ < end; ++gates) {
    plan_.Use({"r.io/a:1"}, "team", false, now_);
    std::vector<std::string> asked = AskFor(window + 1min);
    EXPECT_EQ(asked.size(), static_cast<size_t>((window - 1ms) / kTagPace.every));
    window = std::min(2 * window, kTagPace.last);
  }
  // In a week of constant use.
  EXPECT_LT(gates, 20U);
}

TEST_F(RefreshPlanTest, WhatIsUsedRarelyIsForgotten) {
  for (int i = 0; i < 3; ++i) {
    plan_.Use({"r.io/a:1"}, "team", false, now_);
    EXPECT_EQ(AskFor(3 * kTagPace.first).size(),
              static_cast<size_t>(kTagPace.first / kTagPace.every));
  }
  EXPECT_FALSE(plan_.TakeDue(now_));
  EXPECT_EQ(plan_.size(), 0U);
}

TEST_F(RefreshPlanTest, WhatCountsShortlyIsAskedForOften) {
  const std::string digest = "r.io/d@sha256:" + std::string(64, 'a');
  plan_.Use({"r.io/a:1"}, "team", /*always_pull=*/true, now_);
  plan_.Use({"r.io/b:1", "team default key"}, "team", false, now_);
  plan_.Use({digest, "team default key"}, "team", false, now_);
  // It never names another image.
  plan_.Use({digest}, "team", true, now_);
  EXPECT_EQ(plan_.size(), 3U);
  std::vector<std::string> asked = AskFor(kShortPace.every + 5s);
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()),
            (std::set<std::string>{"r.io/a:1", "r.io/b:1", digest}));
}

TEST_F(RefreshPlanTest, PodsOfBothKindsTakeTheShorterPace) {
  plan_.Use({"r.io/a:1"}, "team", false, now_);
  plan_.Use({"r.io/a:1"}, "team", true, now_ + 1s);
  plan_.Use({"r.io/a:1"}, "team", false, now_ + 2s);
  EXPECT_EQ(plan_.NextDue(), now_ + 1s + kShortPace.every);
}

TEST_F(RefreshPlanTest, RegistriesHaveABudget) {
  for (int i = 0; i < 30; ++i) {
    plan_.Use({"one.io/a" + std::to_string(i) + ":1"}, "team", false, now_);
    plan_.Use({"two.io/a" + std::to_string(i) + ":1"}, "team", false, now_);
  }
  EXPECT_TRUE(AskFor(kTagPace.every).empty());
  EXPECT_EQ(AskFor(10s).size(), 20U);
  EXPECT_EQ(AskFor(1h).size(), 2 * 30 * 2U - 20);
}

TEST_F(RefreshPlanTest, AllRequestsHaveABudget) {
  for (int i = 0; i < 100; ++i)
    plan_.Use({"r" + std::to_string(i) + ".io/a:1"}, "team", false, now_);
  EXPECT_TRUE(AskFor(kTagPace.every).empty());
  EXPECT_EQ(AskFor(10s).size(), 40U);
}

// A read of a Secret is work of the API server.
TEST_F(RefreshPlanTest, ReadsOfSecretsHaveABudget) {
  for (int i = 0; i < 60; ++i) {
    plan_.Use({"r" + std::to_string(i) + ".io/a:1", "team default one two"}, "team", false, now_);
  }
  plan_.Use({"r.io/many:1", "team default a b c d e"}, "team", false, now_);
  EXPECT_EQ(plan_.size(), 60U);
  EXPECT_TRUE(AskFor(kShortPace.every).empty());
  EXPECT_EQ(AskFor(10s).size(), 10U);
}

TEST_F(RefreshPlanTest, NamespacesTakeTurns) {
  for (int i = 0; i < 50; ++i)
    plan_.Use({"r.io/a" + std::to_string(i) + ":1"}, "large", false, now_);
  plan_.Use({"r.io/b:1"}, "small", false, now_ + 1ms);
  std::vector<std::string> asked = AskFor(kTagPace.every + 2500ms);
  EXPECT_NE(std::find(asked.begin(), asked.end(), "r.io/b:1"), asked.end());
}

TEST_F(RefreshPlanTest, ANamespaceBeyondItsShareEvictsItsOwn) {
  plan_ = RefreshPlan({.facts = 5, .namespace_facts = 3});
  plan_.Use({"r.io/b:1"}, "other", false, now_);
  for (int i = 0; i < 10; ++i)
    plan_.Use({"r.io/a" + std::to_string(i) + ":1"}, "one", false, now_ + i * 1s);
  EXPECT_EQ(plan_.size(), 4U);
  std::vector<std::string> asked = AskFor(kTagPace.every + 1min);
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()),
            (std::set<std::string>{"r.io/b:1", "r.io/a7:1", "r.io/a8:1", "r.io/a9:1"}));
}

TEST_F(RefreshPlanTest, WithoutRoomTheNamespaceWithTheMostEvicts) {
  plan_ = RefreshPlan({.facts = 4, .namespace_facts = 3});
  for (int i = 0; i < 3; ++i)
    plan_.Use({"r.io/a" + std::to_string(i) + ":1"}, "large", false, now_ + i * 1s);
  for (const char* ns : {"b", "c"}) plan_.Use({std::string("r.io/") + ns + ":1"}, ns, false, now_);
  EXPECT_EQ(plan_.size(), 4U);
  std::vector<std::string> asked = AskFor(kTagPace.every + 1min);
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()),
            (std::set<std::string>{"r.io/a1:1", "r.io/a2:1", "r.io/b:1", "r.io/c:1"}));
}

TEST_F(RefreshPlanTest, ClearForgetsAll) {
  plan_.Use({"r.io/a:1"}, "team", false, now_);
  plan_.Clear();
  EXPECT_EQ(plan_.size(), 0U);
  EXPECT_FALSE(plan_.NextDue());
  plan_.Use({"r.io/a:1"}, "team", false, now_);
  EXPECT_TRUE(plan_.NextDue());
}

}  // namespace
}  // namespace image_facts
