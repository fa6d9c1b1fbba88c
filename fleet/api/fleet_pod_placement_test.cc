// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/fleet_pod_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/api/pod_placement_work.h"
#include "fleet/api/rollout_strategy.h"

namespace fleet {
namespace {

using kube::Json;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// What a user may write.
Json Example() {
  return kube::MustParseJson(R"({
    "metadata": {"name": "web", "namespace": "team", "uid": "u", "generation": 3},
    "spec": {
      "placements": [
        {"name": "canary"},
        {"name": "rest", "rolloutStrategy": {"type": "Progressive", "progressive": {
            "mandatoryDecisionGroups": [{"groupName": "west"}, {"groupIndex": 2}],
            "maxConcurrency": "25%", "maxFailures": 2,
            "minSuccessTime": "5m0s", "progressDeadline": "10m"}}}],
      "clusterPodPlacementConfig": {
        "metadata": {"labels": {"team": "web"}, "resourceVersion": "7"},
        "spec": {"logVerbosity": "Debug"}},
      "podPlacementConfigs": [
        {"metadata": {"name": "arm", "namespace": "shop", "annotations": {"a": "b"}},
         "spec": {"priority": 5, "plugins": {"nodeAffinityScoring": {"enabled": true,
             "platforms": [{"architecture": "arm64", "weight": 50}]}}}}],
      "deletionPolicy": "Orphan",
      "adopt": true}})");
}

std::string ProblemsOf(const Json& json) {
  auto fleet = FleetPodPlacement::FromJson(json);
  return fleet ? api::Describe(fleet->problems) : fleet.error().ToString();
}

TEST(FleetPodPlacementTest, EveryFieldIsRead) {
  auto fleet = FleetPodPlacement::FromJson(Example());
  ASSERT_TRUE(fleet);
  EXPECT_EQ(api::Describe(fleet->problems), "");
  EXPECT_EQ(fleet->ns, "team");
  EXPECT_EQ(fleet->name, "web");
  EXPECT_EQ(fleet->generation, 3);
  EXPECT_FALSE(fleet->deleting);
  const FleetPodPlacementSpec& spec = fleet->spec;
  ASSERT_EQ(spec.placements.size(), 2u);
  EXPECT_EQ(spec.placements[0], PlacementRef{.name = "canary"});
  RolloutStrategy strategy{.type = RolloutType::kProgressive,
                           .mandatory_groups = {{.name = "west"}, {.index = 2}},
                           .max_concurrency = ClusterCount{.value = 25, .percent = true},
                           .max_failures = ClusterCount{.value = 2},
                           .min_success_time = minutes(5),
                           .progress_deadline = minutes(10)};
  EXPECT_EQ(spec.placements[1], (PlacementRef{.name = "rest", .strategy = strategy}));
  EXPECT_EQ(spec.deletion_policy, DeletionPolicy::kOrphan);
  EXPECT_TRUE(spec.adopt);
  ASSERT_EQ(spec.objects.size(), 2u);
  EXPECT_EQ(spec.objects[0], kube::MustParseJson(R"({"apiVersion": "multiarch.openshift.io/v1beta1",
      "kind": "ClusterPodPlacementConfig",
      "metadata": {"name": "cluster", "labels": {"team": "web"}},
      "spec": {"logVerbosity": "Debug"}})"));
  EXPECT_EQ(spec.objects[1]["kind"], "PodPlacementConfig");
  EXPECT_EQ(spec.objects[1]["metadata"], kube::MustParseJson(R"({"name": "arm", "namespace": "shop",
      "annotations": {"a": "b"}})"));
  EXPECT_EQ(spec.objects[1]["spec"], Example()["spec"]["podPlacementConfigs"][0]["spec"]);
}

TEST(FleetPodPlacementTest, WhatIsWrittenIsReadAsTheSame) {
  auto fleet = FleetPodPlacement::FromJson(Example());
  Json json = {{"spec", SpecToJson(fleet->spec)}};
  auto again = FleetPodPlacement::FromJson(json);
  EXPECT_EQ(api::Describe(again->problems), "");
  EXPECT_EQ(again->spec.placements, fleet->spec.placements);
  EXPECT_EQ(again->spec.objects, fleet->spec.objects);
  EXPECT_EQ(again->spec.deletion_policy, fleet->spec.deletion_policy);
  EXPECT_EQ(again->spec.adopt, fleet->spec.adopt);
}

TEST(FleetPodPlacementTest, TheHashIsOfWhatIsApplied) {
  auto hash = [](const std::string& pointer, const Json& value) {
    Json json = Example();
    if (!pointer.empty()) json[Json::json_pointer("/spec" + pointer)] = value;
    return HashOf(FleetPodPlacement::FromJson(json)->spec);
  };
  std::string example = hash("", {});
  EXPECT_EQ(example.size(), 16u);
  EXPECT_EQ(example.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(hash("/clusterPodPlacementConfig/spec/logVerbosity", "Trace"), example);
  EXPECT_NE(hash("/podPlacementConfigs/0/metadata/annotations/a", "c"), example);
  EXPECT_NE(hash("/adopt", false), example);
  EXPECT_EQ(hash("/deletionPolicy", "Delete"), example);
  EXPECT_EQ(hash("/placements/0/name", "other"), example);
  EXPECT_EQ(hash("/clusterPodPlacementConfig/metadata/resourceVersion", "8"), example);
}

struct ProblemRow {
  std::string pointer;  // of the example, below "/spec"
  Json value;
  std::string problem;
};
void PrintTo(const ProblemRow& row, std::ostream* out) {
  *out << row.pointer << kube::DumpJson(row.value);
}

class ProblemTable : public testing::TestWithParam<ProblemRow> {};

TEST_P(ProblemTable, IsNamed) {
  Json json = Example();
  json[Json::json_pointer("/spec" + GetParam().pointer)] = GetParam().value;
  EXPECT_THAT(ProblemsOf(json), HasSubstr(GetParam().problem));
}

constexpr char kProgressive[] = "/placements/1/rolloutStrategy/progressive";

ProblemRow Strategy(const std::string& field, const Json& value, const std::string& problem) {
  return {std::string(kProgressive) + "/" + field, value,
          "spec.placements[1].rolloutStrategy.progressive." + field + ": " + problem};
}

Json Many(size_t count, const Json& item) {
  Json list = Json::array();
  for (size_t i = 0; i < count; ++i) list.push_back(item);
  return list;
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemTable,
    testing::Values(
        ProblemRow{"", 7, "spec: must be an object"},
        ProblemRow{"/placements", nullptr, "spec.placements: is required"},
        ProblemRow{"/placements", Json::array(), "spec.placements: must have at least one item"},
        ProblemRow{"/placements", Many(17, {{"name", "p"}}), "must have at most 16 items"},
        ProblemRow{"/placements/0", "canary", "spec.placements[0]: must be an object"},
        ProblemRow{"/placements/0/name", nullptr, "spec.placements[0].name: is required"},
        ProblemRow{"/placements/0/name", "rest", "spec.placements[1].name: is listed twice"},
        ProblemRow{"/placements/0/name", std::string(254, 'p'), "at most 253 characters"},
        ProblemRow{"/placements/1/rolloutStrategy/type", "Fast",
                   "spec.placements[1].rolloutStrategy.type: must be one of"},
        ProblemRow{kProgressive, "fast", "progressive: must be an object"},
        Strategy("maxConcurrency", 0, "must be a number of at least 1"),
        Strategy("maxConcurrency", "0%", "must be a number of at least 1"),
        Strategy("maxConcurrency", "101%", "must be a number of at least 1"),
        Strategy("maxConcurrency", "-1%", "must be a number of at least 1"),
        Strategy("maxConcurrency", "%", "must be a number of at least 1"),
        Strategy("maxConcurrency", "some", "must be a number of at least 1"),
        Strategy("maxConcurrency", 1.5, "must be a number of at least 1"),
        Strategy("maxConcurrency", uint64_t{1} << 63, "must be a number of at least 1"),
        Strategy("maxFailures", -1, "must be a number of at least 0"),
        Strategy("minSuccessTime", "-5m", "must be a duration of at least 0s"),
        Strategy("minSuccessTime", 5, "must be a string"),
        Strategy("minSuccessTime", "721h", "must be a duration of at least 0s"),
        Strategy("progressDeadline", "0s", "must be a duration of at least 1s"),
        Strategy("progressDeadline", "none", "must be a duration of at least 1s"),
        Strategy("progressDeadline", "5", "must be a duration of at least 1s"),
        Strategy("progressDeadline", "99999999999999999999s", "must be a duration"),
        Strategy("mandatoryDecisionGroups", Many(101, Json::object()), "must have at most 100"),
        ProblemRow{std::string(kProgressive) + "/mandatoryDecisionGroups/1/groupIndex", -1,
                   "mandatoryDecisionGroups[1].groupIndex: must be an integer from 0"},
        ProblemRow{std::string(kProgressive) + "/mandatoryDecisionGroups/0/groupName",
                   std::string(64, 'g'), "groupName: must have at most 63 characters"},
        ProblemRow{"/deletionPolicy", "Keep", "spec.deletionPolicy: must be one of"},
        ProblemRow{"/adopt", "yes", "spec.adopt: must be true or false"},
        ProblemRow{"/clusterPodPlacementConfig/spec/logVerbosity", "Loud",
                   "spec.clusterPodPlacementConfig.spec.logVerbosity: must be one of"},
        ProblemRow{"/clusterPodPlacementConfig/spec", nullptr,
                   "spec.clusterPodPlacementConfig.spec: is required"},
        ProblemRow{"/clusterPodPlacementConfig/metadata/labels/team", 1,
                   "clusterPodPlacementConfig.metadata.labels: must have at most 100 entries"},
        ProblemRow{"/podPlacementConfigs/0/metadata/annotations/"
                   "fleet.multiarch.openshift.io~1work-hash",
                   "x", "metadata.annotations: must have no name with fleet.multiarch"},
        ProblemRow{"/clusterPodPlacementConfig/metadata/annotations/x", std::string(70'000, 'x'),
                   "spec.clusterPodPlacementConfig: must have at most 64 KiB"},
        ProblemRow{"/podPlacementConfigs/0/metadata", nullptr,
                   "spec.podPlacementConfigs[0].metadata: is required"},
        ProblemRow{"/podPlacementConfigs/0/metadata/namespace", nullptr,
                   "spec.podPlacementConfigs[0].metadata.namespace: is required"},
        ProblemRow{"/podPlacementConfigs/0/metadata/name", "../x",
                   "spec.podPlacementConfigs[0].metadata.name: must be a name"},
        ProblemRow{"/podPlacementConfigs/0/spec/plugins", nullptr,
                   "spec.podPlacementConfigs[0].spec.plugins: is required"},
        ProblemRow{"/podPlacementConfigs", Many(2, Example()["spec"]["podPlacementConfigs"][0]),
                   "spec.podPlacementConfigs[1]: shop/arm is listed twice"},
        ProblemRow{"/podPlacementConfigs", Many(101, Json::object()), "at most 100 items"}));

TEST(FleetPodPlacementTest, ItNeedsSomethingToApply) {
  Json json = Example();
  json["spec"].erase("clusterPodPlacementConfig");
  EXPECT_EQ(ProblemsOf(json), "");
  json["spec"].erase("podPlacementConfigs");
  EXPECT_THAT(ProblemsOf(json), HasSubstr("spec: needs a clusterPodPlacementConfig"));
}

TEST(FleetPodPlacementTest, AllTemplatesTogetherAreBounded) {
  Json json = Example();
  Json& configs = json["spec"]["podPlacementConfigs"];
  for (int i = 0; i < 9; ++i) {
    configs.push_back(configs[0]);
    configs.back()["metadata"]["name"] = "c" + std::to_string(i);
    configs.back()["metadata"]["annotations"]["a"] = std::string(60'000, 'x');
  }
  EXPECT_EQ(ProblemsOf(json), "spec: the templates must have at most 512 KiB together");
}

TEST(FleetPodPlacementTest, ALongNameIsAProblem) {
  Json json = Example();
  json["metadata"]["name"] = std::string(64, 'n');
  EXPECT_EQ(ProblemsOf(json), "metadata.name: must have at most 63 characters");
}

TEST(FleetPodPlacementTest, AnObjectWithoutAnythingHasProblems) {
  EXPECT_NE(ProblemsOf(Json::object()), "");
  EXPECT_FALSE(FleetPodPlacement::FromJson(Json::array()));
}

TEST(FleetPodPlacementTest, TheStatusIsWrittenAsItIsRead) {
  FleetPodPlacementStatus status{
      .observed_generation = 3,
      .hash = "0123456789abcdef",
      .clusters = {.total = 9,
                   .succeeded = 4,
                   .progressing = 1,
                   .failed = 2,
                   .timed_out = 1,
                   .removing = 3},
      .failures = {{.cluster = "c1", .reason = "Failed", .message = "conflict"}},
      .conditions = {{.type = std::string(kRolledOut),
                      .status = "False",
                      .reason = "Progressing",
                      .message = "",
                      .last_transition_time = "2026-01-01T00:00:00Z"}}};
  Json json = Example();
  json["status"] = StatusToJson(status);
  EXPECT_EQ(json["status"]["timedOut"], 1);
  EXPECT_EQ(FleetPodPlacement::FromJson(json)->status, status);
}

struct TimeRow {
  std::string text;
  std::optional<seconds> time;
};

TEST(RolloutTimeTest, AsGoWritesIt) {
  const TimeRow kRows[] = {{"0", seconds(0)},
                           {"0s", seconds(0)},
                           {"90s", seconds(90)},
                           {"5m0s", minutes(5)},
                           {"1h30m", minutes(90)},
                           {"720h", hours(720)},
                           {"", {}},
                           {"5", {}},
                           {"m", {}},
                           {"5x", {}},
                           {"1.5h", {}},
                           {"-1s", {}},
                           {"721h", {}},
                           {"1h ", {}},
                           {"+1s", {}}};
  for (const TimeRow& row : kRows) EXPECT_EQ(ParseRolloutTime(row.text), row.time) << row.text;
}

TEST(RolloutStrategyTest, NoneIsNoDeadline) {
  api::FieldErrors problems;
  Json json = kube::MustParseJson(R"({"type": "All", "all": {"progressDeadline": "None"}})");
  EXPECT_EQ(RolloutStrategyFromJson(json, "s", problems), RolloutStrategy());
  EXPECT_EQ(api::Describe(problems), "");
}

TEST(RolloutStrategyTest, OnlyTheObjectOfTheTypeCounts) {
  api::FieldErrors problems;
  Json json = kube::MustParseJson(R"({"type": "ProgressivePerGroup",
      "progressive": {"maxFailures": 1}, "progressivePerGroup": {"maxConcurrency": 3}})");
  EXPECT_EQ(RolloutStrategyFromJson(json, "s", problems),
            RolloutStrategy{.type = RolloutType::kProgressivePerGroup});
}

struct CountRow {
  std::optional<ClusterCount> count;
  int64_t total;
  int64_t wanted;  // with the default 77
};

TEST(ClusterCountTest, OfATotal) {
  const CountRow kRows[] = {{{}, 10, 77},
                            {ClusterCount{3}, 10, 3},
                            {ClusterCount{10}, 10, 10},
                            {ClusterCount{11}, 10, 77},
                            {ClusterCount{0}, 10, 77},
                            {ClusterCount{25, true}, 10, 3},
                            {ClusterCount{1, true}, 10, 1},
                            {ClusterCount{100, true}, 10, 10},
                            {ClusterCount{29, true}, 100, 29},
                            {ClusterCount{50, true}, 0, 77}};
  for (const CountRow& row : kRows) EXPECT_EQ(CountOf(row.count, row.total, 77), row.wanted);
}

TEST(PodPlacementWorkTest, ItIsReadAsItWasWritten) {
  PodPlacementWorkSpec spec{.hash = "0123456789abcdef",
                            .given_at = kube::WallTime(hours(480'000)),
                            .objects = FleetPodPlacement::FromJson(Example())->spec.objects,
                            .deletion_policy = DeletionPolicy::kOrphan,
                            .adopt = true};
  Json json = {
      {"metadata",
       {{"name", WorkName("team", "web")},
        {"namespace", "c1"},
        {"labels",
         {{std::string(kWorkNamespaceLabel), "team"}, {std::string(kWorkNameLabel), "web"}}},
        {"finalizers", {"other", std::string(kWorkFinalizer)}}}},
      {"spec", SpecToJson(spec)}};
  auto work = PodPlacementWork::FromJson(json);
  ASSERT_TRUE(work);
  EXPECT_EQ(api::Describe(work->problems), "");
  EXPECT_EQ(work->name, "team.web");
  EXPECT_EQ(work->ns, "c1");
  EXPECT_EQ(work->owner_ns, "team");
  EXPECT_EQ(work->owner_name, "web");
  EXPECT_TRUE(work->has_finalizer);
  EXPECT_EQ(work->spec.hash, spec.hash);
  EXPECT_EQ(work->spec.given_at, spec.given_at);
  EXPECT_EQ(work->spec.objects, spec.objects);
  EXPECT_EQ(work->spec.deletion_policy, spec.deletion_policy);
  EXPECT_TRUE(work->spec.adopt);
}

TEST(PodPlacementWorkTest, ThePhaseIsOfTheAnswer) {
  struct Row {
    std::string status;
    WorkPhase phase;
  };
  const Row kRows[] = {{"null", WorkPhase::kProgressing},
                       {"{}", WorkPhase::kProgressing},
                       {R"({"hash": "h", "phase": "Succeeded"})", WorkPhase::kSucceeded},
                       {R"({"hash": "h", "phase": "Failed"})", WorkPhase::kFailed},
                       {R"({"hash": "h", "phase": "Progressing"})", WorkPhase::kProgressing},
                       {R"({"hash": "h", "phase": "Fine"})", WorkPhase::kProgressing},
                       {R"({"hash": "g", "phase": "Succeeded"})", WorkPhase::kProgressing},
                       {R"({"hash": 7, "phase": ["Succeeded"]})", WorkPhase::kProgressing}};
  for (const Row& row : kRows) {
    Json json = {{"spec", {{"hash", "h"}}}, {"status", kube::MustParseJson(row.status)}};
    EXPECT_EQ(PodPlacementWork::FromJson(json)->Phase(), row.phase) << row.status;
  }
}

TEST(PodPlacementWorkTest, TimesOfEveryZoneAndYear) {
  struct Row {
    const char* given;
    const char* time;
  };
  const Row kRows[] = {{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
                       {"2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"},
                       {"9999-12-31T23:59:59Z", "2260-12-31T23:59:59Z"},
                       {"0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"}};
  for (const Row& row : kRows) {
    Json json = {{"spec", {{"hash", "h"}, {"givenAt", row.given}, {"objects", Json::array()}}}};
    PodPlacementWork work = *PodPlacementWork::FromJson(json);
    EXPECT_EQ(kube::FormatTime(work.spec.given_at), row.time);
    EXPECT_EQ(api::Describe(work.problems), "");
  }
}

TEST(PodPlacementWorkTest, ProblemsAreNamed) {
  Json json = kube::MustParseJson(R"({"spec": {"givenAt": "soon", "objects": [7]}})");
  EXPECT_EQ(api::Describe(PodPlacementWork::FromJson(json)->problems),
            "spec.hash: is required; spec.givenAt: must be a time, for example "
            "2026-01-31T23:59:59Z; spec.objects[0]: must be an object");
}

}  // namespace
}  // namespace fleet
