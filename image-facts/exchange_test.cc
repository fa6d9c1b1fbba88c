// SPDX-License-Identifier: Apache-2.0
#include "image-facts/exchange.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "image-facts/fact_book.h"
#include "image-facts/testing/make_facts.h"
#include "kube/testing/matchers.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;

const std::string kDigest = "sha256:" + std::string(64, 'a');
const std::string kOtherDigest = "sha256:" + std::string(64, 'b');

ImageFact Fact(std::string image, std::chrono::seconds read = 1000s,
               const std::string& digest = kDigest) {
  return {std::move(image), digest, OnLinux({"amd64"}), Seconds(read)};
}

ImageFacts Object(int number, std::vector<ImageFact> facts, const std::string& configuration = "c",
                  int version = 10) {
  ImageFacts object;
  object.mutable_metadata()->set_name("image-facts-" + std::to_string(number));
  object.mutable_metadata()->set_resource_version(std::to_string(version + number));
  object.mutable_metadata()->add_owner_references()->set_uid("owner");
  object.configuration = configuration;
  object.facts = std::move(facts);
  return object;
}

std::set<std::string> Images(const std::vector<ImageFact>& facts) {
  std::set<std::string> images;
  for (const ImageFact& fact : facts) images.insert(fact.image);
  return images;
}

TEST(ExchangeTest, ReadsWhatItWrites) {
  ImageFact own = Fact("r.io/own:1"), cluster = Fact("r.io/cluster:1");
  own.scope = "team default key";
  cluster.scope = "*";
  const std::string text =
      ToExport({Object(0, {Fact("r.io/a:1", 1000s), Fact("r.io/b:1"), own, cluster}),
                Object(1, {Fact("r.io/a:1", 2000s, kOtherDigest)})});
  auto facts = FromExport(text);
  ASSERT_THAT(facts, kube::IsOk());
  EXPECT_EQ(Images(*facts), (std::set<std::string>{"r.io/a:1", "r.io/b:1"}));
  EXPECT_EQ((*facts)[0].digest, kOtherDigest);
  EXPECT_EQ((*facts)[0].read, Seconds(2000s));
  EXPECT_EQ(text.find("team"), std::string::npos);
}

TEST(ExchangeTest, AllFactsOfAClusterFit) {
  std::vector<ImageFacts> objects;
  for (int i = 0; i < 3; ++i) {
    objects.push_back(Object(i, {}));
    for (size_t k = 0; k < kMaxFactsPerObject; ++k)
      objects.back().facts.push_back(Fact("r.io/" + std::to_string(i) + ":" + std::to_string(k)));
  }
  auto facts = FromExport(ToExport(objects));
  ASSERT_THAT(facts, kube::IsOk());
  EXPECT_EQ(facts->size(), 3 * kMaxFactsPerObject);
}

TEST(ExchangeTest, RefusesOtherText) {
  for (const char* text : {"", "{}", "[]", "null", "{\"facts\": 1}", "{\"facts\": {}}", "{"})
    EXPECT_FALSE(FromExport(text)) << text;
  // What is no fact is left out.
  auto facts = FromExport("{\"facts\": [1, {\"images\": [\"a\", 2]}, {\"platforms\": {}}]}");
  ASSERT_THAT(facts, kube::IsOk());
  EXPECT_TRUE(facts->empty());
}

TEST(ExchangeTest, NewAndNewerFactsAreAdded) {
  auto merged = Merge({Object(0, {Fact("r.io/a:1", 1000s), Fact("r.io/b:1", 3000s)})},
                      {Fact("r.io/a:1", 2000s), Fact("r.io/b:1", 2000s), Fact("r.io/c:1")});
  ASSERT_THAT(merged, kube::IsOk());
  EXPECT_EQ(merged->added, 2U);
  EXPECT_EQ(merged->known, 1U);
  EXPECT_EQ(merged->left_out, 0U);
  ASSERT_EQ(merged->objects.size(), 1U);
  const ImageFacts& object = merged->objects[0];
  EXPECT_EQ(object.metadata().name(), "image-facts-0");
  EXPECT_EQ(object.metadata().resource_version(), "10");
  EXPECT_EQ(object.configuration, "c");
  ASSERT_EQ(object.facts.size(), 3U);
  EXPECT_EQ(object.facts[0].read, Seconds(2000s));
  EXPECT_EQ(object.facts[1].read, Seconds(3000s));
}

TEST(ExchangeTest, ObjectsOfAnEarlierConfigurationStay) {
  auto merged =
      Merge({Object(0, {}, "new", 50), Object(1, {Fact("r.io/old:1")}, "old")}, {Fact("r.io/a:1")});
  ASSERT_THAT(merged, kube::IsOk());
  ASSERT_EQ(merged->objects.size(), 1U);
  EXPECT_EQ(merged->objects[0].metadata().name(), "image-facts-0");
  EXPECT_EQ(merged->objects[0].configuration, "new");
}

TEST(ExchangeTest, NothingIsPushedOut) {
  FactBook book;
  book.Reset("c", {});
  for (int i = 0; book.HasRoomFor(Fact("r.io/app:" + std::to_string(1'000'000 + i))); ++i)
    ASSERT_TRUE(book.Put(Fact("r.io/app:" + std::to_string(1'000'000 + i)), "", {}));
  std::vector<ImageFacts> full;
  while (auto object = book.TakeDue({})) {
    object->mutable_metadata()->set_resource_version("7");
    object->mutable_metadata()->add_owner_references()->set_uid("owner");
    full.push_back(std::move(*object));
  }
  ASSERT_EQ(full.size(), 64U);
  auto merged = Merge(full, {Fact("r.io/new-app:1000000")});
  ASSERT_THAT(merged, kube::IsOk());
  EXPECT_EQ(merged->left_out, 1U);
  EXPECT_TRUE(merged->objects.empty());
  // With room in a further object.
  const std::string last = full.back().metadata().name();
  full.pop_back();
  merged = Merge(full, {Fact("r.io/new-app:1000000")});
  ASSERT_THAT(merged, kube::IsOk());
  ASSERT_EQ(merged->objects.size(), 1U);
  EXPECT_EQ(merged->objects[0].metadata().name(), last);
  EXPECT_EQ(merged->objects[0].metadata().resource_version(), "");
  ASSERT_EQ(merged->objects[0].metadata().owner_references().size(), 1);
}

TEST(ExchangeTest, WithoutAnObjectTheConfigurationIsNotKnown) {
  auto merged = Merge({}, {Fact("r.io/a:1")});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code(), kube::Code::kNotFound);
}

}  // namespace
}  // namespace image_facts
