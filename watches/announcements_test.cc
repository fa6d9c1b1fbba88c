// SPDX-License-Identifier: Apache-2.0
#include "watches/announcements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace watches {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class AnnouncementsTest : public testing::Test {
 protected:
  void Put(const std::string& key, const std::string& value) {
    (*lease_.mutable_annotations())[key] = value;
  }
  void Put(const Announcement& announcement) {
    Put(AnnotationKey(announcement.uid), AnnotationValue(announcement));
  }

  kube::meta::ObjectMeta lease_;
};

TEST_F(AnnouncementsTest, RoundTrip) {
  Announcement first{.uid = "u1", .name = "a", .generation = 1, .since_epoch = 100s};
  Announcement second{.uid = "u2", .name = "b.c-d", .generation = 7, .since_epoch = 101s};
  Put(second);
  Put(first);
  Put("holder.example.com/note", "1 2 x");
  EXPECT_THAT(AnnouncementsOn(lease_), ElementsAre(first, second));
}

// The operator and the controllers may be of different releases
// (docs/decisions/releases-together.md): as release 0.1.0 wrote it.
TEST_F(AnnouncementsTest, TheFormatIsThatOfEarlierReleases) {
  const std::string key = "announced.multiarch.openshift.io/705ab4f5-6393-11e8-b7cc-42010a800002";
  const std::string value = "3 1790000000 arm64-first";
  Announcement read{.uid = "705ab4f5-6393-11e8-b7cc-42010a800002",
                    .name = "arm64-first",
                    .generation = 3,
                    .since_epoch = 1790000000s};
  EXPECT_EQ(AnnotationKey(read.uid), key);
  EXPECT_EQ(AnnotationValue(read), value);
  Put(key, value);
  EXPECT_THAT(AnnouncementsOn(lease_), ElementsAre(read));
}

TEST_F(AnnouncementsTest, OfOneConfigOnlyTheNewestIsKept) {
  Put({.uid = "u1", .name = "a", .generation = 1, .since_epoch = 100s});
  Announcement newer{.uid = "u1", .name = "a", .generation = 2, .since_epoch = 101s};
  Put(newer);
  EXPECT_THAT(AnnouncementsOn(lease_), ElementsAre(newer));
}

// Tenants can write any annotation.
TEST_F(AnnouncementsTest, InvalidAnnotationsAreSkippedAndRemoved) {
  std::string prefix = AnnotationKey("");
  for (const char* value : {"", " ", "1", "1 2", "1 2 ", "1 x a", "x 1 a", "1 2 NoName",
                            "99999999999999999999 1 a", "1 -5 a", "1 2 a/b"}) {
    Put(prefix + "u", value);
    EXPECT_THAT(AnnouncementsOn(lease_), IsEmpty()) << value;
    EXPECT_THAT(ObsoleteAnnotations(lease_, 100s), ElementsAre(prefix + "u")) << value;
  }
  lease_.clear_annotations();
  Put(prefix, "1 2 a");
  Put(prefix + std::string(60, 'u'), "1 2 a");
  EXPECT_THAT(AnnouncementsOn(lease_), IsEmpty());
}

TEST_F(AnnouncementsTest, OldOnesAreRemoved) {
  Put({.uid = "old", .name = "a", .since_epoch = 100s});
  Put({.uid = "young", .name = "b", .since_epoch = 150s});
  Put({.uid = "new", .name = "c", .since_epoch = 300s});
  Put({.uid = "future", .name = "d", .since_epoch = 1000s});
  Put({.uid = "never",
       .name = "e",
       .since_epoch = std::chrono::seconds(std::numeric_limits<int64_t>::max())});
  EXPECT_THAT(
      ObsoleteAnnotations(lease_, 300s),
      UnorderedElementsAre(AnnotationKey("old"), AnnotationKey("future"), AnnotationKey("never")));
}

TEST_F(AnnouncementsTest, AreBoundedAndTheOldestAreRemoved) {
  for (int i = 0; i < 600; ++i) {
    Put({.uid = "u" + std::to_string(i),
         .name = "a",
         .since_epoch = std::chrono::seconds(1000 + i / 100)});
  }
  EXPECT_THAT(AnnouncementsOn(lease_), SizeIs(kMaxAnnouncements));
  std::vector<std::string> obsolete = ObsoleteAnnotations(lease_, 1010s);
  EXPECT_THAT(obsolete, SizeIs(600 - kMaxAnnouncements));
  for (const std::string& key : obsolete)
    EXPECT_LT(std::stoi(key.substr(AnnotationKey("u").size())), 100) << key;
}

// All readers find the same ones, and none that the next writer removes.
TEST_F(AnnouncementsTest, AboveTheLimitTheNewestAreRead) {
  std::vector<Announcement> newest;
  for (int i = 0; i < 600; ++i) {
    Announcement announcement{.uid = "u" + std::to_string(1000 + i),
                              .name = "a",
                              .since_epoch = std::chrono::seconds(1000 + i / 100)};
    Put(announcement);
    if (i >= 600 - static_cast<int>(kMaxAnnouncements)) newest.push_back(announcement);
  }
  EXPECT_EQ(AnnouncementsOn(lease_), newest);
  std::vector<std::string> obsolete = ObsoleteAnnotations(lease_, 1010s);
  for (const Announcement& announcement : newest)
    EXPECT_EQ(std::count(obsolete.begin(), obsolete.end(), AnnotationKey(announcement.uid)), 0);
}

TEST_F(AnnouncementsTest, OneIsCurrentWhateverOthersATenantWrites) {
  EXPECT_FALSE(AnyCurrent(lease_, 1000s));
  Put("holder.example.com/note", "1 1000 a");
  Put(AnnotationKey("invalid"), "1 x a");
  Put({.uid = "old", .name = "a", .since_epoch = 100s});
  EXPECT_FALSE(AnyCurrent(lease_, 1000s));
  for (size_t i = 0; i < kMaxAnnouncements; ++i)
    Put({.uid = "f" + std::to_string(i), .name = "a", .since_epoch = 100'000s});
  EXPECT_FALSE(AnyCurrent(lease_, 1000s));
  Put({.uid = "coming", .name = "a", .since_epoch = 999s});
  EXPECT_TRUE(AnyCurrent(lease_, 1000s));
  EXPECT_FALSE(AnyCurrent(lease_, 1200s));
  for (size_t i = 0; i <= kMaxAnnouncements; ++i)
    Put({.uid = "n" + std::to_string(i), .name = "a", .since_epoch = 1200s});
  EXPECT_TRUE(AnyCurrent(lease_, 1200s)) << "also with more than are kept";
}

}  // namespace
}  // namespace watches
