// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "api/field_error.h"
#include "fleet/rollout/progress.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNew[] = "new";
constexpr char kOld[] = "old";
const WallTime kNow = WallTime(std::chrono::hours(1000));

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

RolloutStrategy Strategy(const std::string& json) {
  api::FieldErrors problems;
  RolloutStrategy strategy =
      RolloutStrategyFromJson(kube::MustParseJson(json), "rolloutStrategy", problems);
  EXPECT_EQ(api::Describe(problems), "");
  return strategy;
}

// "canary: a b | c d": group 0 is named canary, group 1 is not.
std::vector<DecidedGroup> Groups(const std::string& text) {
  std::vector<DecidedGroup> groups;
  for (const std::string& part : Split(text, '|')) {
    DecidedGroup group{.index = static_cast<int64_t>(groups.size())};
    for (const std::string& word : Words(part)) {
      if (word.ends_with(':')) {
        group.name = word.substr(0, word.size() - 1);
      } else {
        group.clusters.push_back(word);
      }
    }
    groups.push_back(group);
  }
  return groups;
}

// "a:ok@5": the cluster a has the newest objects, and reports success since 5 minutes. Also run
// (progressing) and bad (failed); "b:old-run@9" is about older objects. "c:gone" is being deleted.
std::map<std::string, ClusterWork> Works(const std::string& text) {
  std::map<std::string, ClusterWork> works;
  for (const std::string& word : Words(text)) {
    std::string cluster = word.substr(0, word.find(':'));
    std::string state = word.substr(word.find(':') + 1);
    ClusterWork work{.hash = kNew, .given_at = kNow - minutes(100)};
    if (state.starts_with("old-")) {
      work.hash = kOld;
      state = state.substr(4);
    }
    if (size_t at = state.find('@'); at != std::string::npos) {
      work.since = kNow - minutes(std::stoi(state.substr(at + 1)));
      state = state.substr(0, at);
    }
    if (state == "ok") work.phase = WorkPhase::kSucceeded;
    if (state == "bad") work.phase = WorkPhase::kFailed;
    work.deleting = state == "gone";
    works[cluster] = work;
  }
  return works;
}

// The clusters that get the newest objects now and did not have them; those that lose their work
// object have a '-' in front.
std::string Changes(const RolloutPlan& plan, const std::map<std::string, ClusterWork>& works) {
  std::string text;
  for (const auto& [cluster, target] : plan.targets) {
    auto work = works.find(cluster);
    bool newest = work != works.end() && work->second.hash == kNew && !work->second.deleting;
    std::string word;
    if (target == Target::kNewest && !newest) word = cluster;
    if (target == Target::kRemoved) word = "-" + cluster;
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
    EXPECT_TRUE(!newest || target != Target::kUnchanged) << cluster;
  }
  return text;
}

// "total 3, succeeded 1, ..." without those that are 0.
std::string CountsOf(const RolloutPlan& plan) {
  const RolloutCounts& counts = plan.counts;
  std::string text;
  const std::pair<std::string, int64_t> kNumbers[] = {
      {"total", counts.total}, {"ok", counts.succeeded},   {"run", counts.progressing},
      {"bad", counts.failed},  {"late", counts.timed_out}, {"removing", counts.removing}};
  for (const auto& [name, number] : kNumbers) {
    if (number != 0)
      text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(number);
  }
  return text;
}

struct Row {
  std::string rule;
  std::string strategy;
  std::string groups;
  std::string works;
  std::string changes;
  std::string counts;
  bool stopped = false;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.rule; }

class OnePlacement : public testing::TestWithParam<Row> {};

TEST_P(OnePlacement, Follows) {
  const Row& row = GetParam();
  PlacementRollout placement{
      .name = "p", .strategy = Strategy(row.strategy), .groups = Groups(row.groups)};
  auto works = Works(row.works);
  RolloutPlan plan = PlanRollout({&placement, 1}, works, kNew, kNow);
  EXPECT_EQ(Changes(plan, works), row.changes);
  EXPECT_EQ(CountsOf(plan), row.counts);
  EXPECT_EQ(!plan.stopped.empty(), row.stopped);
}

constexpr char kAll[] = R"({"type": "All"})";
constexpr char kAllWithin10[] = R"({"type": "All", "all": {"progressDeadline": "10m"}})";
constexpr char kByName[] = R"({"type": "Progressive"})";
constexpr char kTwoAtATime[] = R"({"type": "Progressive", "progressive": {"maxConcurrency": 2}})";
constexpr char kTwoAndOneMayFail[] = R"({"type": "Progressive", "progressive":
    {"maxConcurrency": 2, "maxFailures": 1, "progressDeadline": "10m", "minSuccessTime": "5m"}})";
constexpr char kThird[] = R"({"type": "Progressive", "progressive": {"maxConcurrency": "30%"}})";
constexpr char kTenAtATime[] = R"({"type": "Progressive", "progressive": {"maxConcurrency": 10}})";
constexpr char kMostMayFail[] = R"({"type": "Progressive", "progressive": {"maxFailures": 10}})";
constexpr char kThirdMayFail[] =
    R"({"type": "Progressive", "progressive": {"maxConcurrency": 2, "maxFailures": "30%"}})";
constexpr char kCanaryFirst[] = R"({"type": "Progressive", "progressive": {"maxConcurrency": 1,
    "maxFailures": 3, "progressDeadline": "10m", "minSuccessTime": "5m",
    "mandatoryDecisionGroups": [{"groupName": "canary"}]}})";
constexpr char kSecondFirst[] = R"({"type": "Progressive", "progressive":
    {"mandatoryDecisionGroups": [{"groupIndex": 1}]}})";
constexpr char kTwoMandatory[] = R"({"type": "ProgressivePerGroup", "progressivePerGroup":
    {"mandatoryDecisionGroups": [{"groupName": "y"}, {"groupName": "x"}, {"groupName": "no"}]}})";
constexpr char kByGroup[] = R"({"type": "ProgressivePerGroup"})";
constexpr char kByGroupOneMayFail[] = R"({"type": "ProgressivePerGroup", "progressivePerGroup":
    {"maxFailures": 1, "progressDeadline": "10m"}})";

INSTANTIATE_TEST_SUITE_P(
    All, OnePlacement,
    testing::Values(
        Row{"at once", kAll, "a | b c", "", "a b c", "total=3 run=3"},
        Row{"no strategy is All", "{}", "a b", "", "a b", "total=2 run=2"},
        Row{"nothing to do", kAll, "a b", "a:ok b:ok", "", "total=2 ok=2"},
        Row{"failures stop nothing", kAll, "a b c", "a:bad b:bad", "c", "total=3 run=1 bad=2"},
        Row{"a late cluster", kAllWithin10, "a b", "a:run@10 b:run@9", "", "total=2 run=1 late=1"},
        Row{"a late failure", kAllWithin10, "a b", "a:bad@10 b:bad@9", "", "total=2 bad=1 late=1"},
        Row{"without an answer, time counts from the write", kAllWithin10, "a", "a:run", "",
            "total=1 late=1"},
        Row{"success has no deadline", kAllWithin10, "a", "a:ok@50", "", "total=1 ok=1"},
        Row{"None: it may take for ever", kAll, "a", "a:run@99", "", "total=1 run=1"},
        Row{"older objects are replaced", kAll, "a b", "a:old-ok b:old-bad", "a b",
            "total=2 run=2"},
        Row{"a cluster that is not chosen any more", kAll, "a", "a:ok b:ok", "-b",
            "total=1 ok=1 removing=1"},
        Row{"removal is no part of the rollout", kByName, "a", "b:bad", "a -b",
            "total=1 run=1 removing=1"},
        Row{"chosen again while it is removed: first the end of that", kAll, "a", "a:gone", "-a",
            "total=1"},
        Row{"no cluster", kAll, "", "", "", ""}));

INSTANTIATE_TEST_SUITE_P(
    Progressive, OnePlacement,
    testing::Values(
        Row{"all at once by default", kByName, "b | a", "", "a b", "total=2 run=2"},
        Row{"by name, not by group", kTwoAtATime, "d c | b a", "", "a b", "total=4 run=2"},
        Row{"wait for both", kTwoAtATime, "a b c d", "a:run b:run", "", "total=4 run=2"},
        Row{"one is ready: the next", kTwoAtATime, "a b c d", "a:ok b:run", "c",
            "total=4 ok=1 run=2"},
        Row{"both are: two", kTwoAtATime, "a b c d", "a:ok b:ok", "c d", "total=4 ok=2 run=2"},
        Row{"success counts after minSuccessTime", kTwoAndOneMayFail, "a b c d", "a:ok@4 b:ok@5",
            "c", "total=4 ok=1 run=2"},
        Row{"a tolerated failure keeps its slot until the deadline", kTwoAndOneMayFail, "a b c d",
            "a:bad@9 b:run@1", "", "total=4 run=1 bad=1"},
        Row{"then the next", kTwoAndOneMayFail, "a b c d", "a:bad@10 b:run@1", "c",
            "total=4 run=2 late=1"},
        Row{"one failure too many", kTwoAndOneMayFail, "a b c d", "a:bad@1 b:run@10", "",
            "total=4 bad=1 late=1", true},
        Row{"no failure is tolerated by default", kTwoAtATime, "a b c d", "a:bad b:ok", "",
            "total=4 ok=1 bad=1", true},
        Row{"nothing waits: nothing is stopped", kTwoAtATime, "a b", "a:bad b:ok", "",
            "total=2 ok=1 bad=1"},
        Row{"a new cluster waits for failures too", kTwoAtATime, "a b c", "b:ok c:bad", "",
            "total=3 ok=1 bad=1", true},
        Row{"percentages are rounded up", kThird, "a b c d", "", "a b", "total=4 run=2"},
        Row{"more at a time than clusters: all", kTenAtATime, "a b c", "", "a b c",
            "total=3 run=3"},
        Row{"more failures than clusters: none", kMostMayFail, "a b c", "a:bad", "",
            "total=3 bad=1", true},
        Row{"a percentage of failures", kThirdMayFail, "a b c d", "a:bad b:ok", "c",
            "total=4 ok=1 run=1 bad=1"},
        Row{"a percentage of failures, passed", kThirdMayFail, "a b c d e f", "a:bad b:bad c:bad",
            "", "total=6 bad=3", true},
        Row{"mandatory groups come whole, first", kCanaryFirst, "a b | canary: x y", "", "x y",
            "total=4 run=2"},
        Row{"and have to prove themselves", kCanaryFirst, "a b | canary: x y", "x:ok@5 y:ok@4", "",
            "total=4 ok=1 run=1"},
        Row{"then the rest", kCanaryFirst, "a b | canary: x y", "x:ok@5 y:ok@5", "a",
            "total=4 ok=2 run=1"},
        Row{"they may not fail", kCanaryFirst, "a b | canary: x y", "x:ok@5 y:bad@1", "",
            "total=4 ok=1 bad=1", true},
        Row{"nor be late", kCanaryFirst, "a b | canary: x y", "x:ok@5 y:run@10", "",
            "total=4 ok=1 late=1", true},
        Row{"a failure later stops the rest", kCanaryFirst, "a b | canary: x y",
            "x:ok@9 y:bad@1 a:run@1", "", "total=4 ok=1 run=1 bad=1", true},
        Row{"by index", kSecondFirst, "a | b", "", "b", "total=2 run=1"},
        Row{"a new template: by name again", kTwoAtATime, "a b c d",
            "a:old-ok b:old-ok c:old-ok d:old-ok", "a b", "total=4 run=2"},
        Row{"a new template before the last one was ready: first those in the middle of it",
            kTwoAtATime, "a b c d", "a:old-ok b:old-ok c:old-run d:old-run", "c d",
            "total=4 run=2"},
        Row{"they count while they wait", kTwoAtATime, "a b c d",
            "a:run b:old-run c:old-run d:old-ok", "b", "total=4 run=2"},
        Row{"unless they timed out", kTwoAndOneMayFail, "a b c d",
            "a:old-ok b:old-ok c:old-run@10 d:old-bad@10", "a b", "total=4 run=2"},
        Row{"the new template mends what the last one broke", kTwoAtATime, "a b c",
            "a:old-bad c:old-ok", "a b", "total=3 run=2"}));

INSTANTIATE_TEST_SUITE_P(
    ProgressivePerGroup, OnePlacement,
    testing::Values(
        Row{"one after another", kByGroup, "b a | c d", "", "a b", "total=4 run=2"},
        Row{"all of it must be ready", kByGroup, "a b | c d", "a:ok b:run", "",
            "total=4 ok=1 run=1"},
        Row{"then the next", kByGroup, "a b | c d | e", "a:ok b:ok", "c d", "total=5 ok=2 run=2"},
        Row{"failures stop", kByGroup, "a b | c d", "a:ok b:bad", "", "total=4 ok=1 bad=1", true},
        Row{"some may fail, in each group", kByGroupOneMayFail, "a b | c d | e",
            "a:ok b:bad@1 c:bad@1 d:ok", "e", "total=5 ok=2 run=1 bad=2"},
        Row{"not two of one group", kByGroupOneMayFail, "a b c | d", "a:ok b:bad@1 c:run@10", "",
            "total=4 ok=1 bad=1 late=1", true},
        Row{"more than the group has: none", kByGroupOneMayFail, "a | b", "a:ok", "b",
            "total=2 ok=1 run=1"},
        Row{"a late one may be among them", kByGroupOneMayFail, "a b | c", "a:ok b:run@10", "c",
            "total=3 ok=1 run=1 late=1"},
        Row{"one that is not late yet is waited for", kByGroupOneMayFail, "a b | c", "a:ok b:run@9",
            "", "total=3 ok=1 run=1"},
        Row{"mandatory groups in their order, one after another", kTwoMandatory, "a | x: b | y: c",
            "", "c", "total=3 run=1"},
        Row{"the second", kTwoMandatory, "a | x: b | y: c", "c:ok", "b", "total=3 ok=1 run=1"},
        Row{"then the rest by index", kTwoMandatory, "a | x: b | y: c | d", "c:ok b:ok", "a",
            "total=4 ok=2 run=1"},
        Row{"all pieces of a name", kTwoMandatory, "a | y: b | y: c", "b:ok", "c",
            "total=3 ok=1 run=1"},
        Row{"a cluster that joins a finished group", kByGroup, "a b | c", "a:ok c:ok", "b",
            "total=3 ok=2 run=1"}));

// Stories with several Placements and with clusters that are not targets.

PlacementRollout Placement(const std::string& name, const std::string& strategy,
                           const std::string& groups) {
  return {.name = name, .strategy = Strategy(strategy), .groups = Groups(groups)};
}

TEST(PlanRolloutTest, AClusterBelongsToTheFirstPlacementThatChoosesIt) {
  std::vector<PlacementRollout> placements = {Placement("slow", kTwoAtATime, "b c d"),
                                              Placement("fast", kAll, "a b c d e")};
  auto works = Works("");
  RolloutPlan plan = PlanRollout(placements, works, kNew, kNow);
  EXPECT_EQ(Changes(plan, works), "a b c e");
  EXPECT_EQ(CountsOf(plan), "total=5 run=4");
}

TEST(PlanRolloutTest, OnePlacementDoesNotStopAnother) {
  std::vector<PlacementRollout> placements = {Placement("p", kTwoAtATime, "a b c"),
                                              Placement("q", kTwoAtATime, "x y z")};
  auto works = Works("a:bad x:ok");
  RolloutPlan plan = PlanRollout(placements, works, kNew, kNow);
  EXPECT_EQ(Changes(plan, works), "y z");
  EXPECT_THAT(plan.stopped, ElementsAre("Placement p: 1 cluster failed or timed out, and at most 0 "
                                        "may"));
}

TEST(PlanRolloutTest, NothingIsRemovedWhileAPlacementHasNoDecisions) {
  std::vector<PlacementRollout> placements = {Placement("p", kAll, "a"),
                                              {.name = "lost", .decided = false}};
  auto works = Works("b:old-ok c:gone");
  RolloutPlan plan = PlanRollout(placements, works, kNew, kNow);
  EXPECT_EQ(Changes(plan, works), "a -c");
  EXPECT_EQ(plan.targets.at("b"), Target::kUnchanged);
  EXPECT_THAT(plan.undecided, ElementsAre("lost"));
  EXPECT_FALSE(plan.complete());
}

TEST(PlanRolloutTest, WithoutPlacementsEveryClusterIsRemoved) {
  auto works = Works("a:ok b:old-run c:gone");
  RolloutPlan plan = PlanRollout({}, works, kNew, kNow);
  EXPECT_EQ(Changes(plan, works), "-a -b -c");
  EXPECT_EQ(CountsOf(plan), "removing=3");
}

TEST(PlanRolloutTest, ItIsCompleteWhenAllHaveSucceededAndNoneIsRemoved) {
  std::vector<PlacementRollout> placements = {Placement("p", kAll, "a b")};
  EXPECT_TRUE(PlanRollout(placements, Works("a:ok b:ok"), kNew, kNow).complete());
  EXPECT_FALSE(PlanRollout(placements, Works("a:ok b:run"), kNew, kNow).complete());
  EXPECT_FALSE(PlanRollout(placements, Works("a:ok b:ok c:gone"), kNew, kNow).complete());
}

TEST(PlanRolloutTest, ItLooksAgainWhenTheFirstTimeIsOver) {
  std::vector<PlacementRollout> placements = {Placement("p", kTwoAndOneMayFail, "a b c d")};
  auto look = [&](const std::string& works) {
    return PlanRollout(placements, Works(works), kNew, kNow).look_again;
  };
  EXPECT_EQ(look("a:run@7 b:ok@1"), kNow + minutes(3));
  EXPECT_EQ(look("a:run@3 b:ok@1"), kNow + minutes(4));
  // Those that get the newest objects now have all of progressDeadline.
  EXPECT_EQ(look("c:old-run@8 d:old-bad@2"), kNow + minutes(10));
  EXPECT_EQ(look("a:run@7 b:ok@9"), kNow + minutes(3));
  EXPECT_EQ(look("a:run@12 b:ok@9"), kNow + minutes(10));
  EXPECT_EQ(look("a:run@12 b:ok@9 c:ok@9 d:ok@9"), std::nullopt);
  placements[0].strategy.progress_deadline.reset();
  EXPECT_EQ(look(""), std::nullopt);
}

TEST(PlanRolloutTest, FailuresAreTheFirstFiftyByName) {
  std::string clusters;
  std::string works;
  for (int i = 100; i < 160; ++i) {
    clusters += " c" + std::to_string(i);
    works += " c" + std::to_string(i) + ":bad";
  }
  auto stored = Works(works);
  stored["c100"].message = std::string(3000, 'x');
  stored["c101"].message = "CPPC cluster: conflict";
  std::vector<PlacementRollout> placements = {Placement("p", kAll, clusters)};
  RolloutPlan plan = PlanRollout(placements, stored, kNew, kNow);
  EXPECT_EQ(plan.counts.failed, 60);
  ASSERT_EQ(plan.failures.size(), kMaxReportedFailures);
  EXPECT_EQ(plan.failures[0].message.size(), kMaxFailureMessage);
  EXPECT_EQ(
      plan.failures[1],
      (ClusterFailure{.cluster = "c101", .reason = "Failed", .message = "CPPC cluster: conflict"}));
  EXPECT_EQ(plan.failures.back().cluster, "c149");
}

TEST(PlanRolloutTest, AnAgentsClockMovesNothingOutsideOfWhatTheHubSaw) {
  auto works = Works("a:ok");
  works["a"].given_at = kNow - minutes(3);
  std::vector<PlacementRollout> placements = {Placement("p", kTwoAndOneMayFail, "a b c")};
  works["a"].since = kNow - minutes(500);  // counts as 3 minutes
  EXPECT_EQ(PlanRollout(placements, works, kNew, kNow).look_again, kNow + minutes(2));
  works["a"].since = kNow + minutes(500);  // counts as now
  EXPECT_EQ(PlanRollout(placements, works, kNew, kNow).look_again, kNow + minutes(5));
}

TEST(WorkOfTest, AnAnswerAboutOtherObjectsIsNone) {
  Json json = kube::MustParseJson(R"({"metadata": {"name": "t.web", "namespace": "c1"},
      "spec": {"hash": "new", "givenAt": "2026-01-01T00:00:00Z", "objects": []},
      "status": {"hash": "old", "phase": "Succeeded", "conditions": [{"type": "Succeeded",
          "status": "True", "reason": "Applied", "message": "m",
          "lastTransitionTime": "2026-01-01T00:05:00Z"}]}})");
  ClusterWork work = WorkOf(*PodPlacementWork::FromJson(json));
  EXPECT_EQ(work.phase, WorkPhase::kProgressing);
  EXPECT_EQ(work.since, std::nullopt);
  json["status"]["hash"] = "new";
  work = WorkOf(*PodPlacementWork::FromJson(json));
  EXPECT_EQ(work.phase, WorkPhase::kSucceeded);
  EXPECT_EQ(work.since, work.given_at + minutes(5));
  EXPECT_EQ(work.message, "m");
  json["status"]["conditions"][0]["message"] = std::string(32768, 'm');
  EXPECT_EQ(WorkOf(*PodPlacementWork::FromJson(json)).message.size(), kMaxFailureMessage);
  json["status"]["conditions"][0]["lastTransitionTime"] = "9999-01-01T00:00:00Z";
  EXPECT_GT(*WorkOf(*PodPlacementWork::FromJson(json)).since, work.given_at);
}

// Plays rollouts of random fleets to their end. The hub remembers nothing between two plans.
class RandomRollout {
 public:
  explicit RandomRollout(int seed) : random_(seed) {
    size_t clusters = 1 + Upto(30);
    for (size_t i = 0; i < clusters; ++i) names_.push_back("c" + std::to_string(100 + i));
    RolloutStrategy strategy;
    strategy.type = static_cast<RolloutType>(Upto(2));
    strategy.min_success_time = minutes(Upto(3));
    strategy.progress_deadline = minutes(5 + Upto(10));
    if (strategy.type == RolloutType::kProgressive && Upto(3) > 0)
      strategy.max_concurrency = RandomCount();
    if (strategy.type != RolloutType::kAll && Upto(2) > 0) strategy.max_failures = RandomCount();
    placement_ = {.name = "p", .strategy = strategy};
    for (const std::string& name : names_) {
      if (placement_.groups.empty() || Upto(5) == 0)
        placement_.groups.push_back({.index = static_cast<int64_t>(placement_.groups.size())});
      placement_.groups.back().clusters.push_back(name);
    }
    if (strategy.type != RolloutType::kAll && Upto(1) == 0) {
      mandatory_ = Upto(placement_.groups.size() - 1);
      placement_.strategy.mandatory_groups = {{.index = static_cast<int64_t>(mandatory_)}};
    }
    if (strategy.type == RolloutType::kProgressive) {
      int64_t rest = Rest();
      slots_ = CountOf(strategy.max_concurrency, rest, rest);
    }
  }

  // Returns: true if every cluster has succeeded with `hash`. `failing`: of 100 answers.
  bool Play(const std::string& hash, size_t failing, int steps) {
    for (int step = 0; step < steps; ++step) {
      RolloutPlan plan = PlanRollout({&placement_, 1}, works_, hash, now_);
      if (plan.complete()) return true;
      Check(plan, hash);
      Write(plan, hash);
      // A second plan at the same time, as after a restart, changes nothing.
      RolloutPlan again = PlanRollout({&placement_, 1}, works_, hash, now_);
      EXPECT_EQ(again.targets, plan.targets);
      EXPECT_EQ(again.counts, plan.counts);
      if (testing::Test::HasFailure()) return false;
      now_ += minutes(1);
      Answer(failing);
    }
    return false;
  }

 private:
  size_t Upto(size_t high) { return std::uniform_int_distribution<size_t>(0, high)(random_); }
  ClusterCount RandomCount() {
    if (Upto(1) == 0) return {.value = static_cast<int64_t>(1 + Upto(99)), .percent = true};
    return {.value = static_cast<int64_t>(1 + Upto(10))};
  }
  bool IsMandatory(size_t group) const {
    return !placement_.strategy.mandatory_groups.empty() && group == mandatory_;
  }
  int64_t Rest() const {
    int64_t rest = 0;
    for (size_t i = 0; i < placement_.groups.size(); ++i)
      rest += IsMandatory(i) ? 0 : placement_.groups[i].clusters.size();
    return rest;
  }
  bool Late(const ClusterWork& work) const {
    return work.phase != WorkPhase::kSucceeded &&
           now_ >= work.since.value_or(work.given_at) + *placement_.strategy.progress_deadline;
  }
  bool Unfinished(const ClusterWork& work, bool proving) const {
    if (work.phase != WorkPhase::kSucceeded) return !Late(work);
    return proving && now_ < *work.since + placement_.strategy.min_success_time;
  }

  // Before the plan is written.
  void Check(const RolloutPlan& plan, const std::string& hash) {
    bool progressive = placement_.strategy.type == RolloutType::kProgressive;
    int64_t total = names_.size();
    int64_t failures = 0;
    for (const auto& [name, work] : works_)
      failures += work.hash == hash && (work.phase == WorkPhase::kFailed || Late(work));
    int64_t given = 0;
    int64_t fresh = 0;     // of the given: those that were in the middle of no change
    int64_t changing = 0;  // in the middle of the change to the newest objects
    int64_t older = 0;     // in the middle of an older one
    for (size_t i = 0; i < placement_.groups.size(); ++i) {
      for (const std::string& name : placement_.groups[i].clusters) {
        auto work = works_.find(name);
        bool has = work != works_.end();
        bool newest = has && work->second.hash == hash;
        bool gets = !newest && plan.targets.at(name) == Target::kNewest;
        EXPECT_TRUE(!newest || plan.targets.at(name) == Target::kNewest) << name << " loses it";
        given += gets;
        if (IsMandatory(i)) continue;
        bool was_older = has && !newest && Unfinished(work->second, false);
        fresh += gets && !was_older;
        changing += gets || (newest && Unfinished(work->second, true));
        older += was_older && !gets;
      }
    }
    if (progressive && failures > CountOf(placement_.strategy.max_failures, total, 0)) {
      EXPECT_EQ(given, 0) << failures << " failures";
    }
    if (progressive && given > 0 && !OnlyMandatory(plan, hash)) {
      EXPECT_LE(changing, slots_);
      if (fresh > 0) {
        EXPECT_LE(changing + older, slots_);
      }
    }
  }
  // The clusters that get the objects now are in the mandatory group.
  bool OnlyMandatory(const RolloutPlan& plan, const std::string& hash) const {
    for (size_t i = 0; i < placement_.groups.size(); ++i) {
      for (const std::string& name : placement_.groups[i].clusters) {
        auto work = works_.find(name);
        bool newest = work != works_.end() && work->second.hash == hash;
        if (!newest && plan.targets.at(name) == Target::kNewest && !IsMandatory(i)) return false;
      }
    }
    return true;
  }

  void Write(const RolloutPlan& plan, const std::string& hash) {
    for (const auto& [name, target] : plan.targets) {
      EXPECT_NE(target, Target::kRemoved);
      if (target == Target::kNewest && works_[name].hash != hash)
        works_[name] = {.hash = hash, .given_at = now_};
    }
  }
  void Answer(size_t failing) {
    for (auto& [name, work] : works_) {
      if (work.phase == WorkPhase::kSucceeded || Upto(2) == 0) continue;
      bool fails = Upto(99) < failing;
      work.phase = fails ? WorkPhase::kFailed : WorkPhase::kSucceeded;
      if (!fails || !work.since) work.since = now_;
    }
  }

  std::mt19937 random_;
  std::vector<std::string> names_;
  PlacementRollout placement_;
  size_t mandatory_ = 0;
  int64_t slots_ = 0;
  std::map<std::string, ClusterWork> works_;
  WallTime now_ = kNow;
};

TEST(RandomRolloutTest, EveryClusterGetsTheObjectsIfAllSucceed) {
  for (int seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_TRUE(RandomRollout(seed).Play("h1", /*failing=*/0, /*steps=*/500));
  }
}

TEST(RandomRolloutTest, LimitsHoldWhenClustersFailAndTheTemplateChanges) {
  int completed = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    RandomRollout rollout(seed);
    rollout.Play("h1", /*failing=*/30, /*steps=*/7);
    rollout.Play("h2", /*failing=*/30, /*steps=*/7);
    ASSERT_FALSE(HasFailure());
    // The last template mends all.
    completed += rollout.Play("h3", /*failing=*/0, /*steps=*/500);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(completed, 1000);
}

}  // namespace
}  // namespace fleet
