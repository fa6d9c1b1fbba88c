// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/auth.h"

#include <gtest/gtest.h>

#include "inspection/testing/mutate.h"
#include "kube/testing/fake_clock.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;

TEST(ChallengeTest, ReadsABearerChallenge) {
  auto got = ParseChallenges(
      R"(Bearer realm="https://auth.r.io/token",service="r.io",scope="repository:a/b:pull,push",error="expired")");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].scheme, "bearer");
  EXPECT_EQ(got[0].Param("realm"), "https://auth.r.io/token");
  EXPECT_EQ(got[0].Param("service"), "r.io");
  EXPECT_EQ(got[0].Param("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(got[0].Param("absent"), "");
}

TEST(ChallengeTest, ReadsSeveralInOneHeader) {
  auto got =
      ParseChallenges(R"(Negotiate, BASIC Realm = "a \"b\"" , charset=UTF-8 , Bearer realm=x)");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].scheme, "negotiate");
  EXPECT_EQ(got[1].scheme, "basic");
  EXPECT_EQ(got[1].Param("realm"), "a \"b\"");
  EXPECT_EQ(got[1].Param("charset"), "UTF-8");
  EXPECT_EQ(got[2].Param("realm"), "x");
}

TEST(ChallengeTest, InvalidChallengesAreSkipped) {
  EXPECT_TRUE(ParseChallenges("").empty());
  EXPECT_TRUE(ParseChallenges("\"").empty());
  EXPECT_TRUE(ParseChallenges(R"(Bearer realm="open)").empty());
  EXPECT_TRUE(ParseChallenges("Basic " + std::string(9000, 'x')).empty());
}

TEST(ChallengeTest, DamageIsHarmless) {
  ForMutations(
      {R"(Bearer realm="https://auth.r.io/token",service="r.io",scope="repository:a/b:pull")",
       R"(Basic realm="x", Bearer realm=y)"},
      20'000, [](const std::string& text) { EXPECT_LE(ParseChallenges(text).size(), 8u); });
}

TEST(BasicTest, EncodesTheExampleOfRfc7617) {
  EXPECT_EQ(BasicAuthorization("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST(TokenTest, ReadsBothNames) {
  auto docker = ParseTokenResponse(R"({"token":"t","expires_in":300})");
  ASSERT_TRUE(docker);
  EXPECT_EQ(docker->value, "t");
  EXPECT_EQ(docker->lifetime, 300s);
  auto oauth = ParseTokenResponse(R"({"access_token":"a"})");
  ASSERT_TRUE(oauth);
  EXPECT_EQ(oauth->value, "a");
  EXPECT_EQ(oauth->lifetime, 60s);
}

TEST(TokenTest, LifetimesAreLimited) {
  for (auto [text, wanted] :
       {std::pair{"-5", 60s}, {"1", 60s}, {"99999999999", 3600s}, {"\"x\"", 60s}}) {
    auto got = ParseTokenResponse(std::string(R"({"token":"t","expires_in":)") + text + "}");
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(got->lifetime, wanted) << text;
  }
}

TEST(TokenTest, RefusesTokensThatAreNotValidInAHeader) {
  for (const char* body :
       {"", "{}", "[]", R"({"token":""})", R"({"token":7})", R"({"token":"a\r\nX: y"})"}) {
    auto got = ParseTokenResponse(body);
    EXPECT_TRUE(FailedWith(got, kube::Code::kInvalid)) << body;
  }
}

TEST(TokenCacheTest, ATokenIsDroppedBeforeItExpires) {
  kube::FakeClock clock;
  TokenCache cache(clock, 4);
  cache.Put("k", {"t", 60s});
  clock.Advance(49s);
  EXPECT_EQ(cache.Get("k"), "t");
  clock.Advance(2s);
  EXPECT_EQ(cache.Get("k"), std::nullopt);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(TokenCacheTest, TheOldestIsDroppedWhenItIsFull) {
  kube::FakeClock clock;
  TokenCache cache(clock, 2);
  cache.Put("a", {"1", 60s});
  cache.Put("b", {"2", 60s});
  cache.Put("a", {"3", 60s});
  cache.Put("c", {"4", 60s});
  EXPECT_EQ(cache.Get("a"), "3");
  EXPECT_EQ(cache.Get("b"), std::nullopt);
  EXPECT_EQ(cache.Get("c"), "4");
}

TEST(TokenCacheTest, TheOldestAreDroppedBeyondTheByteLimit) {
  kube::FakeClock clock;
  TokenCache cache(clock, 1024);
  std::string large(64u << 10, 'x');
  for (int i = 0; i < 200; ++i) cache.Put(std::to_string(i), {large, std::chrono::seconds(300)});
  EXPECT_LE(cache.bytes(), TokenCache::kMaxBytes);
  EXPECT_LT(cache.size(), 64u);
  EXPECT_FALSE(cache.Get("0"));
  EXPECT_TRUE(cache.Get("199"));
  for (int i = 0; i < 200; ++i) cache.Erase(std::to_string(i));
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace inspection
