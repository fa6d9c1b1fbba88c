// SPDX-License-Identifier: Apache-2.0
#include "image-facts/image_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "image-facts/fact_index.h"
#include "image-facts/fact_scope.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using placement::ImagePlatforms;
using placement::Platform;
using placement::SharedPlatforms;

const std::string kDigest = "sha256:" + std::string(64, 'a');

SharedPlatforms Of(std::vector<Platform> platforms) {
  return std::make_shared<const ImagePlatforms>(ImagePlatforms{std::move(platforms)});
}

ImageFact Fact(std::string image, SharedPlatforms platforms, std::chrono::seconds read = 1000s) {
  return {std::move(image), kDigest, std::move(platforms), Seconds(read)};
}

TEST(PlatformsTextTest, ReadsWhatItWrites) {
  ImagePlatforms platforms{
      {{"linux", "amd64", "", 3}, {"linux", "arm64"}, {"windows", "amd64", "10.0.20348"}}};
  std::string text = PlatformsToText(platforms);
  EXPECT_EQ(text, "linux/amd64/v3 linux/arm64 windows/amd64/10.0.20348");
  auto read = PlatformsFromText(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->platforms, platforms.platforms);
  EXPECT_FALSE(read->every);

  auto every = PlatformsFromText(PlatformsToText({.platforms = {}, .every = true}));
  ASSERT_TRUE(every);
  EXPECT_TRUE(every->every);
}

TEST(PlatformsTextTest, LeavesOutWhatHasNoValidName) {
  EXPECT_EQ(PlatformsToText({{{"linux", "AMD 64"}, {"linux", "arm64"}, {"lin ux", "amd64"}}}),
            "linux/arm64");
  EXPECT_EQ(PlatformsToText({{{"linux", "unknown"}}}), "");
  EXPECT_EQ(PlatformsToText({{{"windows", "amd64", "10 .0"}}}), "windows/amd64");
}

// The schema limits the text: an image with too many would keep all facts of its object from being
// written.
TEST(PlatformsTextTest, HasABound) {
  ImagePlatforms many;
  const std::string name(32, 'a');
  for (int i = 0; i < 64; ++i) {
    std::string number = std::to_string(i);
    many.platforms.push_back({name, name.substr(number.size()) + number, std::string(32, '1')});
  }
  std::string text = PlatformsToText(many);
  EXPECT_GT(text.size(), 6'000U);
  EXPECT_LT(text.size(), 8'192U);
  EXPECT_TRUE(PlatformsFromText(text));
  many.platforms.push_back({"linux", "amd64"});
  EXPECT_EQ(PlatformsToText(many), "");
}

TEST(PlatformsTextTest, RefusesOtherText) {
  std::string many;
  for (int i = 0; i < 65; ++i) many += "linux/a" + std::to_string(i) + " ";
  for (const std::string& text :
       {std::string(""), std::string(" "), std::string("linux"), std::string("linux/"),
        std::string("linux/amd64/v1"), std::string("linux/amd64/v5"), std::string("linux/amd64/vv"),
        std::string("linux/amd64/x"), std::string("linux/unknown"), std::string("/amd64"),
        std::string("linux/amd64  linux/arm64"), std::string("* linux/amd64"), many}) {
    EXPECT_FALSE(PlatformsFromText(text)) << text;
  }
}

TEST(FactLineTest, ReadsWhatItWrites) {
  std::string text = ToText(FactLine{"docker.io/library/app:1", kDigest, 3, Seconds(1000s)});
  EXPECT_EQ(text, "docker.io/library/app:1 " + kDigest + " 3 1000");
  auto line = FactLineFromText(text);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->image, "docker.io/library/app:1");
  EXPECT_EQ(line->digest, kDigest);
  EXPECT_EQ(line->platforms, 3U);
  EXPECT_EQ(line->read, Seconds(1000s));
  EXPECT_FALSE(line->scope);

  text = ToText(FactLine{"a:1", kDigest, 3, Seconds(1000s), 7});
  EXPECT_EQ(text, "a:1 " + kDigest + " 3 1000 7");
  line = FactLineFromText(text);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->read, Seconds(1000s));
  EXPECT_EQ(line->scope, 7U);
}

TEST(FactLineTest, RefusesOtherText) {
  std::string valid = "a " + kDigest + " 0 1";
  ASSERT_TRUE(FactLineFromText(valid));
  for (const std::string& text :
       {std::string(""), std::string("a"), "a " + kDigest, "a " + kDigest + " 0", valid + " ",
        valid + " x", valid + " -1", valid + " 1 1", "a " + kDigest + " -1 1",
        "a " + kDigest + " 0 -1", "a " + kDigest + " x 1", std::string("a sha256:1 0 1"),
        " " + kDigest + " 0 1", std::string(513, 'a') + " " + kDigest + " 0 1",
        "a " + kDigest + " 99999999999999999999999 1"}) {
    EXPECT_FALSE(FactLineFromText(text)) << text;
  }
}

TEST(ImageFactsTest, SharesPlatformsOfAnObject) {
  ImageFacts facts;
  facts.mutable_metadata()->set_name("image-facts-0");
  facts.configuration = "c1";
  facts.facts = {Fact("a:1", Of({{"linux", "amd64"}})), Fact("b:1", Of({{"linux", "arm64"}})),
                 Fact("c:1", Of({{"linux", "amd64"}}))};
  Json json = facts.ToJson();
  EXPECT_EQ(json["apiVersion"], "multiarch.openshift.io/v1alpha1");
  EXPECT_EQ(json["kind"], "ImageFacts");
  EXPECT_EQ(json["platforms"], Json::array({"linux/amd64", "linux/arm64"}));
  EXPECT_EQ(json["images"][2], "c:1 " + kDigest + " 0 1000");

  auto read = ImageFacts::FromJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->metadata().name(), "image-facts-0");
  EXPECT_EQ(read->configuration, "c1");
  ASSERT_EQ(read->facts.size(), 3U);
  EXPECT_EQ(read->facts[1].image, "b:1");
  EXPECT_EQ(read->facts[1].digest, kDigest);
  EXPECT_EQ(read->facts[1].platforms->platforms, (std::vector<Platform>{{"linux", "arm64"}}));
  EXPECT_EQ(read->facts[2].platforms, read->facts[0].platforms);
}

TEST(ImageFactsTest, AScopeIsAPartOfAFact) {
  ImageFacts facts;
  facts.facts = {Fact("a:1", Of({{"linux", "amd64"}})), Fact("a:1", Of({{"linux", "arm64"}})),
                 Fact("b:1", Of({{"linux", "arm64"}}))};
  facts.facts[1].scope = facts.facts[2].scope = "team default key";
  Json json = facts.ToJson();
  EXPECT_EQ(json["scopes"], Json::array({"team default key"}));
  EXPECT_EQ(json["images"][0], "a:1 " + kDigest + " 0 1000");
  EXPECT_EQ(json["images"][1], "a:1 " + kDigest + " 1 1000 0");

  auto read = ImageFacts::FromJson(json);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->facts.size(), 3U);
  EXPECT_EQ(read->facts[0].scope, "");
  EXPECT_EQ(read->facts[1].scope, "team default key");

  auto index = FactIndex::FromJson(json);
  ASSERT_TRUE(index);
  auto architecture = [&](uint64_t hash) {
    auto found = index->Find(hash);
    return found ? found->platforms->platforms[0].architecture : "none";
  };
  EXPECT_EQ(architecture(HashOf("a:1")), "amd64");
  EXPECT_EQ(architecture(HashOf("a:1", "team default key")), "arm64");
  EXPECT_EQ(architecture(HashOf("a:1", "other default key")), "none");
  EXPECT_EQ(architecture(HashOf("b:1")), "none");
}

// A line whose scope is lost must not serve every pod.
TEST(ImageFactsTest, AFactWithoutItsScopeIsNone) {
  for (const Json& scopes : {Json(nullptr), Json::array(), Json::array({""}), Json::array({7}),
                             Json::array({std::string(513, 'a')})}) {
    Json json = {{"platforms", Json::array({"linux/amd64"})},
                 {"images", Json::array({"a " + kDigest + " 0 1 0"})},
                 {"scopes", scopes}};
    auto read = ImageFacts::FromJson(json);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->facts.empty()) << scopes;
  }
}

TEST(ScopeTest, NamesTheCredentialsOfAPod) {
  auto scope = ScopeOf("team", "default", {"key", "other"});
  ASSERT_TRUE(scope);
  EXPECT_EQ(*scope, "team default key other");
  ScopeParts parts = PartsOf(*scope);
  EXPECT_EQ(parts.ns, "team");
  EXPECT_EQ(parts.account, "default");
  EXPECT_EQ(parts.pull_secrets, (std::vector<std::string>{"key", "other"}));
  EXPECT_FALSE(ScopeOf("team", "default", {}));
  EXPECT_FALSE(ScopeOf("team", "", {"key"}));
  EXPECT_FALSE(ScopeOf("", "default", {"key"}));
  EXPECT_FALSE(ScopeOf("team", "default", {"key", "a b"}));
  EXPECT_FALSE(ScopeOf("team", "default", {std::string(253, 'a'), std::string(253, 'b')}));
  EXPECT_TRUE(PartsOf("").pull_secrets.empty());
}

TEST(ImageFactsTest, SkipsWhatIsNotValid) {
  Json json = {{"platforms", Json::array({"linux/amd64", 7, "linux"})},
               {"images", Json::array({"a " + kDigest + " 0 1", "b " + kDigest + " 1 1",
                                       "c " + kDigest + " 2 1", "d " + kDigest + " 3 1", 5, "e"})}};
  auto read = ImageFacts::FromJson(json);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->facts.size(), 1U);
  EXPECT_EQ(read->facts[0].image, "a");
  for (const Json& other : {Json(nullptr), Json("text"), Json::array({1}),
                            Json{{"images", "text"}, {"platforms", Json::object()}}}) {
    auto empty = ImageFacts::FromJson(other);
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->facts.empty());
  }
}

TEST(ImageFactsTest, ReadsNoMoreThanALimit) {
  Json json = {{"platforms", Json::array({"linux/amd64"})}, {"images", Json::array()}};
  for (size_t i = 0; i < kMaxFactsPerObject + 5; ++i)
    json["images"].push_back("a" + std::to_string(i) + " " + kDigest + " 0 1");
  auto read = ImageFacts::FromJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->facts.size(), kMaxFactsPerObject);
}

TEST(FactIndexTest, FindsFactsByTheHashOfTheName) {
  ImageFacts facts;
  facts.mutable_metadata()->set_name("image-facts-0");
  for (int i = 0; i < 100; ++i) {
    facts.facts.push_back(Fact("app:" + std::to_string(i),
                               Of({{"linux", i % 2 == 0 ? "amd64" : "arm64"}}),
                               std::chrono::seconds(1000 + i)));
  }
  auto index = FactIndex::FromJson(facts.ToJson());
  ASSERT_TRUE(index);
  EXPECT_EQ(index->metadata().name(), "image-facts-0");
  EXPECT_EQ(index->size(), 100U);
  auto found = index->Find(HashOf("app:7"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->platforms->platforms, (std::vector<Platform>{{"linux", "arm64"}}));
  EXPECT_EQ(found->read, Seconds(1007s));
  EXPECT_FALSE(index->Find(HashOf("app:100")));
}

}  // namespace
}  // namespace image_facts
