// SPDX-License-Identifier: Apache-2.0
#include "rules/asker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "rules/testing/fake_rule_policy.h"

namespace rules {
namespace {

using api::PodPlacementConfig;
using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using kube::Result;
using kube::core::Pod;
using placement::MatchingConfigs;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class AskerTest : public ::testing::Test {
 protected:
  AskerTest() { pod_ = api_.Create<Pod>(MakePod("web").Annotation("kind", "large")); }

  // With the rules "small" and "large", for pods of these kinds.
  PodPlacementConfig CreateConfig(const std::string& name, int32_t priority = 0) {
    return api_.Create<PodPlacementConfig>(api::MakeConfig(name)
                                               .Priority(priority)
                                               .Rule("small", "small", "arm64", 1)
                                               .Rule("large", "large", "amd64", 1));
  }
  // A new generation.
  PodPlacementConfig Change(PodPlacementConfig config) {
    config.spec.cel_rules[0].platforms[0].weight += 1;
    return api_.Update(config);
  }

  Result<milliseconds> Ask(MatchingConfigs& configs) {
    return kube::Run(io_, asker_.Ask(pod_, configs));
  }
  // Another pod, of the same config.
  milliseconds AskAbout(const PodPlacementConfig& config) {
    MatchingConfigs configs = {&config};
    configs[0].open = true;
    Result<milliseconds> wait = Ask(configs);
    EXPECT_THAT(wait, IsOk());
    last_ = configs[0];
    return *wait;
  }
  // Asks until the pod is released, and returns how long it waited.
  kube::Duration WaitFor(const PodPlacementConfig& config) {
    kube::TimePoint start = clock_.Now();
    for (milliseconds wait = AskAbout(config); wait > 0ms; wait = AskAbout(config))
      clock_.Advance(wait);
    return clock_.Now() - start;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  FakeRulePolicy client_{api_};
  Asker asker_{client_, clock_};
  Pod pod_;
  placement::MatchingConfig last_ = nullptr;
};

TEST_F(AskerTest, TellsWhichRulesMatch) {
  PodPlacementConfig config = CreateConfig("a");
  client_.Enforce(config);
  EXPECT_EQ(AskAbout(config), 0ms);
  EXPECT_EQ(last_.rules, 0b10);
  EXPECT_FALSE(last_.open);
  EXPECT_EQ(last_.rules_error, "");
  EXPECT_EQ(asker_.unanswered(), 0u);
}

TEST_F(AskerTest, TheQuestionIsADryRunOfTheUnchangedPod) {
  PodPlacementConfig config = CreateConfig("a");
  AskAbout(config);
  EXPECT_EQ(api_.calls().back(), "GET /api/v1/namespaces/ns/pods/web?dryRun=All&fieldManager=" +
                                     api::QuestionOf(config));
}

TEST_F(AskerTest, AsksNothingWithoutOpenRules) {
  PodPlacementConfig config = CreateConfig("a");
  MatchingConfigs configs = {&config};
  EXPECT_THAT(Ask(configs), IsOk());
  EXPECT_EQ(client_.questions(), 0);
}

TEST_F(AskerTest, AsksOnceForEachConfig) {
  PodPlacementConfig a = CreateConfig("a", 2), b = CreateConfig("b", 1), c = CreateConfig("c");
  client_.Enforce(a);
  client_.Enforce(c);
  MatchingConfigs configs = {&a, &b, &c};
  configs[0].open = configs[2].open = true;
  configs[0].rules.set(0);  // recorded
  ASSERT_THAT(Ask(configs), IsOk());
  EXPECT_EQ(client_.questions(), 2);
  EXPECT_EQ(configs[0].rules, 0b11);
  EXPECT_EQ(configs[1].rules, 0);
  EXPECT_EQ(configs[2].rules, 0b10);
}

TEST_F(AskerTest, OtherWarningsAreNoAnswer) {
  PodPlacementConfig config = CreateConfig("a");
  client_.other_warnings = {"unknown field", "",          "all rules evaluated",
                            "rule 0",        "a: rule 0", ": all rules evaluated "};
  EXPECT_GT(AskAbout(config), 0ms);
}

// One of the pods asks for all, and while they wait, the delay grows to a second.
TEST_F(AskerTest, PodsOfAConfigWithoutAnAnswerWaitTogether) {
  PodPlacementConfig config = CreateConfig("a");
  EXPECT_EQ(AskAbout(config), 100ms);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(AskAbout(config), 100ms);
  EXPECT_EQ(client_.questions(), 1);
  milliseconds delays[] = {200ms, 400ms, 800ms, 1000ms, 1000ms};
  milliseconds before = 100ms;
  for (milliseconds delay : delays) {
    clock_.Advance(before);
    EXPECT_EQ(AskAbout(config), delay);
    EXPECT_EQ(AskAbout(config), delay);
    before = delay;
  }
  EXPECT_EQ(client_.questions(), 6);
  client_.Enforce(config);
  clock_.Advance(1s);
  EXPECT_EQ(AskAbout(config), 0ms);
  EXPECT_EQ(last_.rules, 0b10);
  EXPECT_EQ(AskAbout(config), 0ms);
  EXPECT_EQ(client_.questions(), 8);
}

TEST_F(AskerTest, AfterTenSecondsEachPodAsksOnceUntilThereIsAnAnswer) {
  PodPlacementConfig config = CreateConfig("a");
  EXPECT_GE(WaitFor(config), 10s);
  EXPECT_THAT(last_.rules_error, HasSubstr("does not evaluate them"));
  EXPECT_FALSE(last_.open);
  EXPECT_EQ(last_.rules, 0);
  int asked = client_.questions();
  EXPECT_LE(asked, 16);
  EXPECT_EQ(WaitFor(config), 0s) << "counted for the config, not for each pod";
  EXPECT_EQ(client_.questions(), asked + 1);

  client_.Enforce(config);
  EXPECT_EQ(WaitFor(config), 0s);
  EXPECT_EQ(last_.rules, 0b10);
  EXPECT_EQ(asker_.unanswered(), 0u);
}

TEST_F(AskerTest, AnsweredConfigsAreNotAskedAgainWhileThePodWaits) {
  PodPlacementConfig a = CreateConfig("a", 1), b = CreateConfig("b");
  client_.Enforce(a);
  for (int i = 0; i < 3; ++i) {
    MatchingConfigs configs = {&a, &b};
    configs[0].open = configs[1].open = true;
    Result<milliseconds> wait = Ask(configs);
    ASSERT_THAT(wait, IsOk());
    EXPECT_GT(*wait, 0ms);
    clock_.Advance(*wait);
  }
  EXPECT_EQ(client_.questions(), 1 + 3);
}

TEST_F(AskerTest, PodsWaitForANewGenerationToo) {
  PodPlacementConfig config = CreateConfig("a");
  EXPECT_GE(WaitFor(config), 10s);
  PodPlacementConfig fixed = Change(config);
  EXPECT_EQ(AskAbout(fixed), 100ms);
  client_.Enforce(fixed);
  EXPECT_EQ(WaitFor(fixed), 100ms);
  EXPECT_EQ(last_.rules, 0b10);
}

// I3: a config that is written all the time must not keep its pods gated.
TEST_F(AskerTest, PodsDoNotWaitForManyGenerationsWithoutAnAnswer) {
  PodPlacementConfig config = CreateConfig("a");
  kube::Duration waited{};
  for (int generation = 0; generation < 20; ++generation) {
    waited += WaitFor(config);
    config = Change(config);
  }
  EXPECT_GE(waited, 30s);
  EXPECT_LE(waited, 33s);
}

// I3: nor one that is deleted and created again all the time, with a new UID.
TEST_F(AskerTest, APodDoesNotWaitForManyConfigsWithoutAnAnswer) {
  PodPlacementConfig config = CreateConfig("a");
  kube::TimePoint start = clock_.Now();
  milliseconds wait = AskAbout(config);
  while (wait > 0ms && clock_.Now() < start + 5min) {
    clock_.Advance(wait);
    if (clock_.Now() > start + 5s) {
      api_.Delete<PodPlacementConfig>({"ns", "a"});
      config = CreateConfig("a");
    }
    wait = AskAbout(config);
  }
  EXPECT_EQ(wait, 0ms);
  EXPECT_GE(clock_.Now(), start + 30s);
  EXPECT_LE(clock_.Now(), start + 31s);
  EXPECT_THAT(last_.rules_error, HasSubstr("does not evaluate them"));
  // The next pod waits.
  EXPECT_GT(AskAbout(config), 0ms);
}

TEST_F(AskerTest, APodWaitsForAllItsConfigsTogether) {
  std::vector<PodPlacementConfig> configs;
  for (int i = 0; i < 20; ++i) configs.push_back(CreateConfig("c" + std::to_string(i), i));
  kube::TimePoint start = clock_.Now();
  while (true) {
    MatchingConfigs matching;
    for (const PodPlacementConfig& config : configs) {
      matching.push_back(&config);
      matching.back().open = true;
    }
    Result<milliseconds> wait = Ask(matching);
    ASSERT_THAT(wait, IsOk());
    if (*wait == 0ms) break;
    clock_.Advance(*wait);
  }
  EXPECT_LE(clock_.Now(), start + 31s);
}

TEST_F(AskerTest, ARefusedQuestionIsNotRepeated) {
  PodPlacementConfig config = CreateConfig("a");
  client_.Enforce(config);
  for (Error error : {Error::Invalid("no dry run"), Error::PermissionDenied("a policy says no")}) {
    api_.FailNext(error, "dryRun");
    EXPECT_EQ(AskAbout(config), 0ms);
    EXPECT_THAT(last_.rules_error, HasSubstr(error.message()));
    EXPECT_EQ(last_.rules, 0);
  }
  EXPECT_EQ(asker_.unanswered(), 0u);
  EXPECT_EQ(AskAbout(config), 0ms);
  EXPECT_EQ(last_.rules, 0b10);
}

TEST_F(AskerTest, FailuresOfEveryWriteAreErrors) {
  PodPlacementConfig config = CreateConfig("a");
  for (const Error& error :
       {Error::Conflict("changed"), Error::NotFound("deleted"), Error::Unauthenticated("who"),
        Error::PermissionDenied(R"(pods "web" is forbidden: User "shard" cannot update)")}) {
    MatchingConfigs configs = {&config};
    configs[0].open = true;
    api_.FailNext(error, "dryRun");
    EXPECT_THAT(Ask(configs), FailsWith(error.code()));
    EXPECT_TRUE(configs[0].open);
  }
}

TEST_F(AskerTest, AChangedPodIsAConflict) {
  PodPlacementConfig config = CreateConfig("a");
  api_.Update<Pod>(MakePod("web").Label("new", "label"));
  MatchingConfigs configs = {&config};
  configs[0].open = true;
  EXPECT_THAT(Ask(configs), FailsWith(Code::kConflict));
}

TEST_F(AskerTest, AnOutageCountsAsNoAnswer) {
  PodPlacementConfig config = CreateConfig("a");
  client_.Enforce(config);
  api_.FailNext(Error::Unavailable("503"), "dryRun", 100);
  EXPECT_GE(WaitFor(config), 10s);
  EXPECT_THAT(last_.rules_error, HasSubstr("503"));
}

TEST_F(AskerTest, ForgetsConfigsThatNoPodNeeds) {
  for (int i = 0; i < 300; ++i) AskAbout(CreateConfig("old-" + std::to_string(i)));
  EXPECT_EQ(asker_.unanswered(), 300u);
  clock_.Advance(60s);
  for (int i = 0; i < 300; ++i) AskAbout(CreateConfig("new-" + std::to_string(i)));
  EXPECT_LE(asker_.unanswered(), 512u);
  clock_.Advance(60s);
  for (int i = 0; i < 300; ++i) AskAbout(CreateConfig("newer-" + std::to_string(i)));
  EXPECT_LE(asker_.unanswered(), 512u);
}

TEST_F(AskerTest, AForgottenConfigIsWaitedForAgain) {
  PodPlacementConfig config = CreateConfig("a");
  EXPECT_GE(WaitFor(config), 10s);
  clock_.Advance(60s);
  EXPECT_EQ(AskAbout(config), 100ms);
}

}  // namespace
}  // namespace rules
