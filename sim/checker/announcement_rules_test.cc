// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/announcement_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

class AnnouncementRulesTest : public testing::Test {
 protected:
  AnnouncementRulesTest() { facts_.calm_since = 0s; }

  void Commit(const std::string& group, const std::string& plural, const std::string& name,
              JsonRef before, JsonRef after) {
    checker::Commit commit{.version = ++version_,
                           .group = group,
                           .plural = plural,
                           .key = {"shop", name},
                           .before = std::move(before),
                           .after = std::move(after),
                           .at = now_};
    rules_.Add(commit, found_);
  }
  // Writes the Lease with these announcements: uid -> value.
  void Announce(const std::map<std::string, std::string>& announcements) {
    Json annotations = Json::object();
    for (const auto& [uid, value] : announcements)
      annotations[std::string(api::kAnnouncementAnnotationPrefix) + uid] = value;
    JsonRef after = Share({{"metadata", {{"annotations", std::move(annotations)}}}});
    Commit("coordination.k8s.io", "leases", std::string(api::kAnnouncementsName), lease_, after);
    lease_ = after;
  }
  void DeleteConfig(const std::string& uid) {
    Commit(std::string(api::kGroup), "podplacementconfigs", uid,
           Share({{"metadata", {{"uid", uid}}}}), nullptr);
  }
  // Time, and a commit that has nothing to do with it.
  void Pass(Time time) {
    now_ += time;
    Commit("", "pods", "web", nullptr, Share(Json::object()));
  }

  Facts facts_;
  AnnouncementRules rules_{facts_};
  Violations found_;
  uint64_t version_ = 0;
  Time now_ = 10min;
  JsonRef lease_;
};

TEST_F(AnnouncementRulesTest, TheAnnouncementOfADeletedConfigMustGo) {
  Announce({{"a", "1 5 a"}, {"b", "1 5 b"}});
  DeleteConfig("a");
  Pass(50s);
  EXPECT_THAT(found_, IsEmpty());
  Pass(20s);
  ASSERT_THAT(found_, SizeIs(1));
  EXPECT_EQ(found_[0].rule, "announcements");
  EXPECT_EQ(found_[0].text, "still announces the deleted configuration a");
  Pass(10min);
  EXPECT_THAT(found_, SizeIs(1));
}

TEST_F(AnnouncementRulesTest, ThatOfAnotherMayStay) {
  Announce({{"a", "1 5 a"}, {"b", "1 5 b"}});
  DeleteConfig("a");
  Announce({{"b", "1 5 b"}});
  Pass(10min);
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AnnouncementRulesTest, ADeletedLeaseAnnouncesNothing) {
  Announce({{"a", "1 5 a"}});
  DeleteConfig("a");
  Commit("coordination.k8s.io", "leases", std::string(api::kAnnouncementsName), lease_, nullptr);
  Pass(10min);
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AnnouncementRulesTest, AWriteThatWasReviewedBeforeTheDeletionCountsAnew) {
  Announce({{"a", "1 5 a"}});
  DeleteConfig("a");
  now_ += 50s;
  Announce({{"a", "2 55 a"}});
  Pass(50s);
  EXPECT_THAT(found_, IsEmpty());
  Pass(20s);
  EXPECT_THAT(found_, SizeIs(1));
}

TEST_F(AnnouncementRulesTest, AFaultExcusesIt) {
  Announce({{"a", "1 5 a"}});
  DeleteConfig("a");
  facts_.calm_since = now_ - 1s;
  Pass(10min);
  EXPECT_THAT(found_, IsEmpty());
  Announce({{"b", "1 5 b"}});
  DeleteConfig("b");
  facts_.calm_since = Time::max();
  Pass(10min);
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace sim::checker
