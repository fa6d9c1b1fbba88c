// SPDX-License-Identifier: Apache-2.0
#include "operator/announcements/announcement_cleaner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "operator/testing/harness.h"
#include "watches/announcements.h"

namespace operator_ {
namespace {

using kube::coordination::Lease;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

class AnnouncementCleanerTest : public testing::Test {
 protected:
  AnnouncementCleanerTest() { harness_.CreateClusterConfig(); }

  // `ahead`: of the clock of the replica that announces.
  void Announce(const std::string& ns, const std::string& uid, std::chrono::seconds ahead = 0s) {
    Lease lease;
    lease.mutable_metadata()->set_namespace_(ns);
    lease.mutable_metadata()->set_name(std::string(api::kAnnouncementsName));
    std::optional<Lease> current =
        harness_.api.Get<Lease>({ns, std::string(api::kAnnouncementsName)});
    if (current) lease = *current;
    auto now = std::chrono::duration_cast<std::chrono::seconds>(
        harness_.clock.WallNow().time_since_epoch());
    (*lease.mutable_metadata()->mutable_annotations())[watches::AnnotationKey(uid)] =
        watches::AnnotationValue(
            {.uid = uid, .name = "a", .generation = 1, .since_epoch = now + ahead});
    current ? harness_.api.Update(lease) : harness_.api.Create(lease);
  }
  std::vector<std::string> Announced(const std::string& ns) {
    std::vector<std::string> uids;
    std::optional<Lease> lease =
        harness_.api.Get<Lease>({ns, std::string(api::kAnnouncementsName)});
    if (!lease) return uids;
    for (auto& announcement : watches::AnnouncementsOn(lease->metadata()))
      uids.push_back(announcement.uid);
    return uids;
  }
  bool LeaseExists(const std::string& ns) {
    return harness_.api.Get<Lease>({ns, std::string(api::kAnnouncementsName)}).has_value();
  }
  std::string UidOf(const std::string& ns, const std::string& name) {
    return kube::StringAt(*harness_.api.GetJson(Harness::kConfigs, {ns, name}), "metadata.uid");
  }

  Harness harness_;
};

TEST_F(AnnouncementCleanerTest, TheAnnouncementOfADeletedConfigIsRemoved) {
  harness_.StartOperator();
  harness_.CreateConfig("shop", "a", 1);
  Announce("shop", UidOf("shop", "a"));
  harness_.Pass(1s);
  EXPECT_TRUE(LeaseExists("shop"));
  harness_.DeleteConfig("shop", "a");
  EXPECT_TRUE(harness_.Await([&] { return !LeaseExists("shop"); }));
}

// The removal must not delete an announcement that was written a moment before.
TEST_F(AnnouncementCleanerTest, AConfigThatIsBeingWrittenIsStillAnnounced) {
  harness_.StartOperator();
  harness_.CreateConfig("shop", "a", 1);
  Announce("shop", UidOf("shop", "a"));
  Announce("shop", "coming");
  harness_.DeleteConfig("shop", "a");
  harness_.Pass(5s);
  EXPECT_THAT(Announced("shop"), ElementsAre("coming"));
}

TEST_F(AnnouncementCleanerTest, AnAnnouncementThatIsWrittenDuringTheRemovalIsKept) {
  harness_.StartOperator();
  harness_.CreateConfig("shop", "a", 1);
  Announce("shop", UidOf("shop", "a"));
  bool announced = false;
  harness_.api.BeforeEach([&](const std::string& call) {
    if (announced || call.find("DELETE") == std::string::npos ||
        call.find("leases/pod-placement-ann") == std::string::npos)
      return;
    announced = true;
    Announce("shop", "coming");
  });
  harness_.DeleteConfig("shop", "a");
  harness_.Pass(5s);
  EXPECT_TRUE(announced);
  EXPECT_THAT(Announced("shop"), ElementsAre("coming"));
}

// A tenant can write them.
TEST_F(AnnouncementCleanerTest, AnnouncementsOfTheFutureHideNoCurrentOne) {
  harness_.StartOperator();
  harness_.CreateConfig("shop", "a", 1);
  Announce("shop", UidOf("shop", "a"));
  Announce("shop", "coming");
  Lease lease = *harness_.api.Get<Lease>({"shop", std::string(api::kAnnouncementsName)});
  auto future = std::chrono::duration_cast<std::chrono::seconds>(
      (harness_.clock.WallNow() + 24h).time_since_epoch());
  for (size_t i = 0; i < watches::kMaxAnnouncements; ++i) {
    watches::Announcement forged{
        .uid = "f" + std::to_string(i), .name = "a", .generation = 1, .since_epoch = future};
    (*lease.mutable_metadata()->mutable_annotations())[watches::AnnotationKey(forged.uid)] =
        watches::AnnotationValue(forged);
  }
  harness_.api.Update(lease);
  harness_.DeleteConfig("shop", "a");
  harness_.Pass(5s);
  ASSERT_TRUE(LeaseExists("shop"));
  lease = *harness_.api.Get<Lease>({"shop", std::string(api::kAnnouncementsName)});
  EXPECT_TRUE(lease.metadata().annotations().contains(watches::AnnotationKey("coming")));
  harness_.Pass(12min);
  EXPECT_FALSE(LeaseExists("shop")) << "no announcement is current any more";
}

// A write that was refused later, or the operator that announced it ended.
TEST_F(AnnouncementCleanerTest, TheAnnouncementOfARefusedWriteIsRemovedAfterSomeTime) {
  Announce("shop", "refused");
  harness_.StartOperator();
  harness_.Pass(2min);
  EXPECT_THAT(Announced("shop"), ElementsAre("refused"));
  harness_.Pass(12min);
  EXPECT_FALSE(LeaseExists("shop"));
}

TEST_F(AnnouncementCleanerTest, WallClocksAreNotCompared) {
  Announce("early", "a", -1h);
  Announce("late", "b", 1h);
  harness_.StartOperator();
  harness_.Pass(7min);
  EXPECT_THAT(Announced("early"), ElementsAre("a"));
  EXPECT_THAT(Announced("late"), ElementsAre("b"));
  harness_.Pass(5min);
  EXPECT_FALSE(LeaseExists("early"));
  EXPECT_FALSE(LeaseExists("late"));
}

TEST_F(AnnouncementCleanerTest, ALeaseThatIsWrittenAgainIsKept) {
  Announce("shop", "a");
  harness_.StartOperator();
  harness_.Pass(5min);
  Announce("shop", "b");
  harness_.Pass(7min);
  EXPECT_THAT(Announced("shop"), ElementsAre("a", "b"));
  harness_.Pass(5min);
  EXPECT_FALSE(LeaseExists("shop"));
}

}  // namespace
}  // namespace operator_
