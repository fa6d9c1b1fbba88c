// SPDX-License-Identifier: Apache-2.0
#include "fleet/image-facts/shared_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "image-facts/lifetime.h"
#include "image-facts/testing/make_facts.h"

namespace fleet {
namespace {

using namespace std::chrono_literals;
using image_facts::DigestOf;
using image_facts::ImageFact;
using image_facts::ImageFacts;
using image_facts::OnLinux;
using image_facts::Seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Seconds kWall{1'800'000'000s};
constexpr kube::TimePoint kNow{1000s};

ImageFact Fact(const std::string& image, char digest, const placement::ArchitectureSet& runs_on,
               Seconds read = kWall) {
  return {image, DigestOf(digest), OnLinux(runs_on), read};
}

ImageFacts Object(std::vector<ImageFact> facts) {
  ImageFacts object;
  object.facts = std::move(facts);
  return object;
}

class SharedFactsTest : public testing::Test {
 protected:
  std::vector<SharedFacts::Dispute> Add(const std::string& cluster, std::vector<ImageFact> facts,
                                        kube::TimePoint now = kNow) {
    return facts_.Add(cluster, Object(std::move(facts)), now, kWall);
  }
  const ImageFact* Find(const std::string& image) { return facts_.book().Find({image}); }

  SharedFacts facts_{{.objects = 2, .object_bytes = 2'000, .namespace_bytes = 1'500}};
};

TEST_F(SharedFactsTest, TheFactThatWasReadLastCounts) {
  EXPECT_THAT(Add("one", {Fact("r.io/app:1", 'a', {"amd64"}, kWall - 60s)}), IsEmpty());
  EXPECT_THAT(Add("two", {Fact("r.io/app:1", 'b', {"arm64"}, kWall - 30s)}), IsEmpty());
  EXPECT_THAT(Add("three", {Fact("r.io/app:1", 'c', {"s390x"}, kWall - 45s)}), IsEmpty());
  ASSERT_NE(Find("r.io/app:1"), nullptr);
  EXPECT_EQ(Find("r.io/app:1")->digest, DigestOf('b'));
}

TEST_F(SharedFactsTest, OnlyWhatRegistriesTellEverybodyIsShared) {
  ImageFact of_some = Fact("r.io/some:1", 'a', {"amd64"});
  of_some.scope = "team default key";
  ImageFact of_cluster = Fact("r.io/cluster:1", 'a', {"amd64"});
  of_cluster.scope = image_facts::kWholeCluster;
  Add("one", {of_some, of_cluster, Fact("r.io/future:1", 'a', {"amd64"}, kWall + 1h),
              Fact("r.io/old:1", 'a', {"amd64"}, kWall - 1h),
              Fact("r.io/other@" + DigestOf('b'), 'a', {"amd64"}),
              Fact("r.io/same@" + DigestOf('a'), 'a', {"amd64"}, kWall - 1h)});
  EXPECT_EQ(facts_.book().size(), 1u);
  EXPECT_NE(Find("r.io/same@" + DigestOf('a')), nullptr) << "a digest never ends to count";
}

TEST_F(SharedFactsTest, ADigestWithTwoContentsCountsForNobody) {
  EXPECT_THAT(Add("one", {Fact("r.io/app:1", 'a', {"amd64"}), Fact("r.io/copy:1", 'a', {"amd64"}),
                          Fact("r.io/other:1", 'b', {"amd64"})}),
              IsEmpty());
  auto disputes = Add("two", {Fact("r.io/app:2", 'a', {"arm64"}, kWall - 1s)});
  ASSERT_THAT(disputes, SizeIs(1));
  EXPECT_EQ(disputes[0].digest, DigestOf('a'));
  EXPECT_EQ(disputes[0].image, "r.io/app:2");
  EXPECT_EQ(disputes[0].cluster, "two");
  EXPECT_EQ(disputes[0].other, "one");
  for (const char* image : {"r.io/app:1", "r.io/copy:1", "r.io/app:2"})
    EXPECT_EQ(Find(image), nullptr) << image;
  EXPECT_NE(Find("r.io/other:1"), nullptr);

  EXPECT_THAT(Add("one", {Fact("r.io/app:1", 'a', {"amd64"})}, kNow + kDisputedFor - 1s),
              IsEmpty());
  EXPECT_EQ(Find("r.io/app:1"), nullptr);
  Add("one", {Fact("r.io/app:1", 'a', {"amd64"})}, kNow + kDisputedFor);
  EXPECT_NE(Find("r.io/app:1"), nullptr);
}

TEST_F(SharedFactsTest, AMemberThatPublishesALotPushesOutItsOwnFactsAlone) {
  Add("small", {Fact("r.io/small:1", 'a', {"amd64"})});
  std::vector<ImageFact> many;
  for (int i = 0; i < 100; ++i)
    many.push_back(Fact("r.io/large:" + std::to_string(i), 'b', {"amd64"}));
  Add("large", many);
  EXPECT_NE(Find("r.io/small:1"), nullptr);
  EXPECT_EQ(Find("r.io/large:0"), nullptr);
  EXPECT_NE(Find("r.io/large:99"), nullptr);
  EXPECT_LE(facts_.book().bytes(), 3'000u);
}

TEST_F(SharedFactsTest, WhatAMemberHasSaidGoesWithIt) {
  Add("one", {Fact("r.io/one:1", 'a', {"amd64"})});
  Add("two", {Fact("r.io/two:1", 'b', {"amd64"})});
  facts_.Remove("one", kNow);
  EXPECT_EQ(Find("r.io/one:1"), nullptr);
  EXPECT_NE(Find("r.io/two:1"), nullptr);
  facts_.Remove("one", kNow);
}

}  // namespace
}  // namespace fleet
