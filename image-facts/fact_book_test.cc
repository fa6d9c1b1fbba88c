// SPDX-License-Identifier: Apache-2.0
#include "image-facts/fact_book.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "image-facts/lifetime.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using kube::TimePoint;
using placement::ImagePlatforms;
using placement::SharedPlatforms;

const std::string kDigest = "sha256:" + std::string(64, 'a');
const std::string kOtherDigest = "sha256:" + std::string(64, 'b');

SharedPlatforms Linux(const std::string& architecture) {
  return std::make_shared<const ImagePlatforms>(ImagePlatforms{{{"linux", architecture}}});
}

ImageFact Fact(std::string image, const std::string& digest = kDigest,
               std::chrono::seconds read = 1000s) {
  return {std::move(image), digest, Linux("amd64"), Seconds(read)};
}

std::set<std::string> ImagesOf(const ImageFacts& object) {
  std::set<std::string> images;
  for (const ImageFact& fact : object.facts) images.insert(fact.image);
  return images;
}

class FactBookTest : public testing::Test {
 protected:
  // What a fact like those above with a name of `name` bytes counts.
  static size_t BytesOf(size_t name) { return name + kDigest.size() + 11 + 24; }

  TimePoint now_{1h};
};

TEST_F(FactBookTest, NewFactsOfABurstAreOneWrite) {
  FactBook book;
  EXPECT_FALSE(book.TakeDue(now_));
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  ASSERT_TRUE(book.Put(Fact("b:1"), "two", now_));
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->metadata().name(), "image-facts-0");
  EXPECT_EQ(ImagesOf(*object), (std::set<std::string>{"a:1", "b:1"}));
  EXPECT_FALSE(book.TakeDue(now_ + 1h));
  ASSERT_NE(book.Find({"a:1"}), nullptr);
  EXPECT_EQ(book.Find({"c:1"}), nullptr);
}

TEST_F(FactBookTest, WhatIsReadAgainIsWrittenInHalfOfItsLifetime) {
  struct Case {
    std::string image;
    std::string scope;
    bool always_pull;
    kube::Duration wait;  // 0: it is never written
  };
  const std::string digest = "a@" + kDigest;
  for (const Case& c :
       {Case{"a:1", "", false, kTagLifetime / 2}, Case{"a:1", "", true, kAlwaysLifetime / 2},
        Case{"a:1", "team default key", false, kPullSecretLifetime / 2},
        Case{digest, "team default key", true, kPullSecretLifetime / 2},
        Case{digest, "", true, 0s}}) {
    FactBook book;
    auto fact = [&](std::chrono::seconds read) {
      ImageFact fact = Fact(c.image, kDigest, read);
      fact.scope = c.scope;
      return fact;
    };
    ASSERT_TRUE(book.Put(fact(1000s), "one", now_, c.always_pull));
    ASSERT_TRUE(book.TakeDue(now_));
    ASSERT_TRUE(book.Put(fact(2000s), "one", now_ + 1s, c.always_pull));
    // A result that comes late does not set the time back.
    ASSERT_TRUE(book.Put(fact(1500s), "one", now_ + 2s, c.always_pull));
    if (c.wait == 0s) {
      EXPECT_FALSE(book.NextDue());
      continue;
    }
    EXPECT_EQ(book.NextDue(), now_ + c.wait);
    EXPECT_FALSE(book.TakeDue(now_ + c.wait - 1ms));
    auto object = book.TakeDue(now_ + c.wait);
    ASSERT_TRUE(object);
    EXPECT_EQ(object->facts[0].read, Seconds(2000s));
    // What comes after that time is due at once.
    ASSERT_TRUE(book.Put(fact(3000s), "one", now_ + 1h, c.always_pull));
    EXPECT_EQ(book.NextDue(), now_ + 1h);
  }
}

TEST_F(FactBookTest, AnImageHasAFactForEachScope) {
  FactBook book;
  ImageFact own = Fact("a:1", kOtherDigest);
  own.scope = "team default key";
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  ASSERT_TRUE(book.Put(own, "team", now_));
  ASSERT_NE(book.Find({"a:1"}), nullptr);
  EXPECT_EQ(book.Find({"a:1"})->digest, kDigest);
  ASSERT_NE(book.Find({"a:1", own.scope}), nullptr);
  EXPECT_EQ(book.Find({"a:1", own.scope})->digest, kOtherDigest);
  EXPECT_EQ(book.Find({"a:1", "other default key"}), nullptr);
  book.Erase({"a:1"}, now_);
  EXPECT_EQ(book.Find({"a:1"}), nullptr);
  EXPECT_NE(book.Find({"a:1", own.scope}), nullptr);
  EXPECT_EQ(book.bytes(), BytesOf(3) + own.scope.size() + 8);
}

TEST_F(FactBookTest, AMovedTagIsDueAtOnce) {
  FactBook book;
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  ASSERT_TRUE(book.TakeDue(now_));
  ASSERT_TRUE(book.Put(Fact("a:1", kOtherDigest), "one", now_));
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  ASSERT_EQ(object->facts.size(), 1U);
  EXPECT_EQ(object->facts[0].digest, kOtherDigest);
}

TEST_F(FactBookTest, AnErasedFactIsDueAtOnce) {
  FactBook book;
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  ASSERT_TRUE(book.TakeDue(now_));
  book.Erase({"a:1"}, now_);
  book.Erase({"b:1"}, now_);
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  EXPECT_TRUE(object->facts.empty());
  EXPECT_EQ(book.bytes(), 0U);
}

TEST_F(FactBookTest, AFailedWriteIsDueAgain) {
  FactBook book;
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  book.Retry(object->metadata().name(), now_ + 1s);
  EXPECT_FALSE(book.TakeDue(now_));
  EXPECT_TRUE(book.TakeDue(now_ + 1s));
  book.Retry("image-facts-x", now_);
  book.Retry("image-facts-64", now_);
  book.Retry("image-facts-00", now_);
  EXPECT_FALSE(book.TakeDue(now_));
}

TEST_F(FactBookTest, ObjectsAreFilledOneAfterTheOther) {
  FactBook book({.objects = 3, .object_bytes = 2 * BytesOf(2)});
  for (const char* image : {"a1", "a2", "a3", "a4", "a5", "a6"})
    ASSERT_TRUE(book.Put(Fact(image), "one", now_));
  std::set<std::string> all;
  int objects = 0;
  while (auto object = book.TakeDue(now_)) {
    ++objects;
    EXPECT_EQ(object->facts.size(), 2U);
    all.merge(ImagesOf(*object));
  }
  EXPECT_EQ(objects, 3);
  EXPECT_EQ(all.size(), 6U);
}

TEST_F(FactBookTest, ANamespaceBeyondItsShareEvictsItsOwn) {
  FactBook book({.namespace_bytes = 2 * BytesOf(2)});
  ASSERT_TRUE(book.Put(Fact("b1"), "other", now_));
  ASSERT_TRUE(book.Put(Fact("a1"), "one", now_));
  ASSERT_TRUE(book.Put(Fact("a2"), "one", now_));
  book.Use({"a1"}, "one");
  ASSERT_TRUE(book.Put(Fact("a3"), "one", now_));
  EXPECT_NE(book.Find({"a1"}), nullptr);
  EXPECT_EQ(book.Find({"a2"}), nullptr);
  EXPECT_NE(book.Find({"b1"}), nullptr);
}

// What an earlier leader has learned for many namespaces is more than one may have.
TEST_F(FactBookTest, WhatIsRestoredIsNotLimitedAsOneNamespace) {
  ImageFacts stored;
  stored.mutable_metadata()->set_name("image-facts-0");
  for (int i = 0; i < 9; ++i) stored.facts.push_back(Fact("a" + std::to_string(i)));
  FactBook book({.namespace_bytes = 2 * BytesOf(2)});
  EXPECT_EQ(book.Restore(stored, now_).size(), 9U);
  // A moved tag.
  ASSERT_TRUE(book.Put(Fact("a1", kOtherDigest), "", now_));
  EXPECT_EQ(book.size(), 9U);
}

TEST_F(FactBookTest, WhatOthersAddIsMerged) {
  FactBook book;
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  auto stored = book.TakeDue(now_);
  ASSERT_TRUE(stored);
  EXPECT_TRUE(book.Restore(*stored, now_).empty());
  EXPECT_FALSE(book.NextDue());

  stored->facts.push_back(Fact("b:1"));
  std::vector<const ImageFact*> added = book.Restore(*stored, now_);
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0]->image, "b:1");
  EXPECT_FALSE(book.NextDue());

  // What others have removed is written again.
  stored->facts.clear();
  EXPECT_TRUE(book.Restore(*stored, now_).empty());
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  EXPECT_EQ(ImagesOf(*object), (std::set<std::string>{"a:1", "b:1"}));
}

TEST_F(FactBookTest, WithoutRoomTheNamespaceWithTheMostEvicts) {
  FactBook book({.objects = 2, .object_bytes = 2 * BytesOf(2)});
  ASSERT_TRUE(book.Put(Fact("b1"), "small", now_));
  for (const char* image : {"a1", "a2", "a3"}) ASSERT_TRUE(book.Put(Fact(image), "large", now_));
  ASSERT_TRUE(book.Put(Fact("c1"), "small", now_));
  EXPECT_NE(book.Find({"b1"}), nullptr);
  EXPECT_NE(book.Find({"c1"}), nullptr);
  EXPECT_EQ(book.Find({"a1"}), nullptr);
  EXPECT_NE(book.Find({"a3"}), nullptr);
  EXPECT_EQ(book.bytes(), 4 * BytesOf(2));
}

TEST_F(FactBookTest, RefusesWhatDoesNotFit) {
  FactBook book({.object_bytes = BytesOf(4)});
  EXPECT_FALSE(book.Put(Fact("a:123"), "one", now_));
  EXPECT_FALSE(book.Put(Fact(std::string(513, 'a')), "one", now_));
  ImageFact nowhere = Fact("a:1");
  nowhere.platforms = Linux("unknown");
  EXPECT_FALSE(book.Put(std::move(nowhere), "one", now_));
  EXPECT_EQ(book.size(), 0U);
  EXPECT_FALSE(book.TakeDue(now_));
}

TEST_F(FactBookTest, RestoresWhatIsStored) {
  FactBook before;
  before.Reset("c1", now_);
  ASSERT_TRUE(before.Put(Fact("a:1"), "one", now_));
  auto stored = before.TakeDue(now_);
  ASSERT_TRUE(stored);

  FactBook book;
  book.Reset("c1", now_);
  book.Restore(*stored, now_);
  ASSERT_NE(book.Find({"a:1"}), nullptr);
  EXPECT_FALSE(book.TakeDue(now_ + 1h));
  // It gets the owner that uses it first.
  book.Use({"a:1"}, "one");
  EXPECT_FALSE(book.TakeDue(now_ + 1h));
  ASSERT_TRUE(book.Put(Fact("b:1"), "one", now_));
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  EXPECT_EQ(ImagesOf(*object), (std::set<std::string>{"a:1", "b:1"}));
}

TEST_F(FactBookTest, RestoresNothingOfAnotherConfiguration) {
  ImageFacts stored;
  stored.mutable_metadata()->set_name("image-facts-3");
  stored.configuration = "c1";
  stored.facts = {Fact("a:1")};
  FactBook book;
  book.Reset("c2", now_);
  book.Restore(stored, now_);
  EXPECT_EQ(book.size(), 0U);
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->metadata().name(), "image-facts-3");
  EXPECT_EQ(object->configuration, "c2");
  EXPECT_TRUE(object->facts.empty());
}

TEST_F(FactBookTest, OfTwoStoredFactsTheNewerOneCounts) {
  ImageFacts older;
  older.mutable_metadata()->set_name("image-facts-0");
  older.facts = {Fact("a:1", kDigest, 1000s)};
  ImageFacts newer;
  newer.mutable_metadata()->set_name("image-facts-1");
  newer.facts = {Fact("a:1", kOtherDigest, 2000s)};
  for (const auto& [first, second] : {std::pair(older, newer), std::pair(newer, older)}) {
    FactBook book;
    book.Restore(first, now_);
    book.Restore(second, now_);
    ASSERT_NE(book.Find({"a:1"}), nullptr);
    EXPECT_EQ(book.Find({"a:1"})->digest, kOtherDigest);
    auto object = book.TakeDue(now_);
    ASSERT_TRUE(object);
    EXPECT_EQ(object->metadata().name(), "image-facts-0");
    EXPECT_TRUE(object->facts.empty());
    EXPECT_FALSE(book.TakeDue(now_));
  }
}

TEST_F(FactBookTest, AnotherConfigurationEmptiesTheStoredObjects) {
  FactBook book;
  ASSERT_TRUE(book.Put(Fact("a:1"), "one", now_));
  ASSERT_TRUE(book.TakeDue(now_));
  book.Reset("c2", now_);
  EXPECT_EQ(book.size(), 0U);
  auto object = book.TakeDue(now_);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->configuration, "c2");
  EXPECT_TRUE(object->facts.empty());
  EXPECT_FALSE(book.TakeDue(now_));
  // There is nothing stored to be emptied.
  book.Reset("c3", now_);
  EXPECT_FALSE(book.TakeDue(now_));
}

}  // namespace
}  // namespace image_facts
