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
using testing::Eq;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;
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

  // What a write of another config removes.
  std::vector<std::string> Removed(std::chrono::seconds now = 0s) {
    std::vector<std::string> removed;
    for (const auto& [key, value] : Announcing({{.uid = "writer", .name = "w"}}, lease_, now)) {
      if (!value) removed.push_back(key);
    }
    return removed;
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
                            "99999999999999999999 1 a", "1 -5 a", "1 253402300800 a", "1 2 a/b"}) {
    Put(prefix + "u", value);
    EXPECT_THAT(AnnouncementsOn(lease_), IsEmpty()) << value;
    EXPECT_THAT(Removed(), ElementsAre(prefix + "u")) << value;
  }
  lease_.clear_annotations();
  Put(prefix, "1 2 a");
  Put(prefix + std::string(60, 'u'), "1 2 a");
  EXPECT_THAT(AnnouncementsOn(lease_), IsEmpty());
}

// The clocks of their writers may differ by any time.
TEST_F(AnnouncementsTest, ATimeAloneRemovesNothing) {
  Put({.uid = "early", .name = "a", .since_epoch = 0s});
  Put({.uid = "late", .name = "b", .since_epoch = 253402300799s});
  EXPECT_THAT(Removed(1'700'000'000s), IsEmpty());
}

TEST_F(AnnouncementsTest, EachWriteIsTheNewest) {
  Put({.uid = "late", .name = "a", .since_epoch = 1000s});
  EXPECT_THAT(Announcing({{.uid = "new", .name = "b", .generation = 1}}, lease_, 100s),
              ElementsAre(Pair(AnnotationKey("new"), Optional(std::string("1 1001 b")))));
  Put({.uid = "latest", .name = "a", .since_epoch = 253402300799s});
  EXPECT_THAT(Announcing({{.uid = "new", .name = "b", .generation = 1}}, lease_, 100s),
              ElementsAre(Pair(AnnotationKey("new"), Optional(std::string("1 253402300799 b")))));
}

TEST_F(AnnouncementsTest, AreBoundedAndTheOldestAreRemoved) {
  for (int i = 0; i < 600; ++i) {
    Put({.uid = "u" + std::to_string(i),
         .name = "a",
         .since_epoch = std::chrono::seconds(1000 + i / 100)});
  }
  EXPECT_THAT(AnnouncementsOn(lease_), SizeIs(kMaxAnnouncements));
  std::vector<std::string> obsolete = Removed();
  EXPECT_THAT(obsolete, SizeIs(600 + 1 - kMaxAnnouncements)) << "with room for the write";
  for (const std::string& key : obsolete)
    EXPECT_LT(std::stoi(key.substr(AnnotationKey("u").size())), 100) << key;
}

TEST_F(AnnouncementsTest, AWriteAnnouncesAndRemovesWhatIsObsolete) {
  Put(AnnotationKey("old"), "of another format");
  Put({.uid = "other", .name = "b", .generation = 3, .since_epoch = 590s});
  Put({.uid = "ahead", .name = "c", .generation = 6, .since_epoch = 590s});
  Put("holder.example.com/note", "1 2 x");
  std::vector<Announcement> writes = {{.uid = "ahead", .name = "c", .generation = 5},
                                      {.uid = "new", .name = "d", .generation = 1}};
  EXPECT_THAT(Announcing(writes, lease_, 600s),
              ElementsAre(Pair(AnnotationKey("ahead"), Optional(std::string("6 600 c"))),
                          Pair(AnnotationKey("new"), Optional(std::string("1 600 d"))),
                          Pair(AnnotationKey("old"), Eq(std::nullopt))));
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
  std::vector<std::string> obsolete = Removed();
  size_t read = 0;
  for (const Announcement& announcement : newest)
    read += std::count(obsolete.begin(), obsolete.end(), AnnotationKey(announcement.uid));
  EXPECT_EQ(read, 1u) << "one, for the write itself";
}

}  // namespace
}  // namespace watches
