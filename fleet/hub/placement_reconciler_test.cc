// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fleet/api/budgets.h"
#include "fleet/hub/fleet_watch.h"
#include "fleet/hub/testing/no_cel.h"
#include "fleet/testing/hub_fixture.h"
#include "fleet/testing/make_object.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::Outcome;
using kube::Result;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Namespace "ns" binds the set "all", which selects all clusters.
class PlacementReconcilerTest : public HubFixture {
 protected:
  void SetUp() override {
    api_.CreateJson(kManagedClusterSets, MakeClusterSet("all", kSelectsAll));
    api_.CreateJson(kManagedClusterSetBindings, MakeSetBinding("ns", "all"));
    for (const char* name : {"c1", "c2", "c3"})
      api_.CreateJson(kManagedClusters, MakeManagedCluster(name));
  }

  // A Placement "p" of this hub.
  void CreatePlacement(const std::string& spec) {
    api_.CreateJson(kPlacements, MakePlacement("ns", "p", spec)
                                     .Annotation(kSchedulingDisableAnnotation, "true")
                                     .Annotation(kSchedulerAnnotation, "multiarch"));
  }
  void SetSpec(const std::string& spec) {
    Json placement = *api_.GetJson(kPlacements, {"ns", "p"});
    placement["spec"] = kube::MustParseJson(spec);
    placement["metadata"]["generation"] = int(placement["metadata"]["generation"]) + 1;
    api_.UpdateJson(kPlacements, placement);
    kube::Drain(io_);
  }
  void Taint(const std::string& cluster, const std::string& taints) {
    api_.PatchJson(kManagedClusters, {"", cluster},
                   {{"spec", {{"taints", kube::MustParseJson(taints)}}}});
    kube::Drain(io_);
  }
  void Start() {
    watch_.Start(tasks_);
    ASSERT_TRUE(kube::RunUntil(io_, [&] { return store_.complete(); }));
  }
  Result<Outcome> Reconcile() {
    Result<Outcome> outcome = kube::Run(io_, reconciler_.Reconcile({{"ns", "p"}}));
    kube::Drain(io_);
    return outcome;
  }
  // "c1 c2|c3": the clusters of the pages in order of their names.
  std::string Decisions() {
    std::string text;
    for (const Json& page : api_.ListJson(kPlacementDecisions, "ns")) {
      if (!text.empty()) text += "|";
      std::string separator;
      const PlacementDecision read = PlacementDecision::FromJson(page).value();
      for (const Decision& decision : read.decisions)
        text += std::exchange(separator, " ") + decision.cluster;
    }
    return text;
  }
  Json Status() {
    return (*api_.GetJson(kPlacements, {"ns", "p"})).value("status", Json::object());
  }
  std::string Condition(std::string_view type) {
    return HubFixture::Condition(kPlacements, {"ns", "p"}, type);
  }

  std::set<std::string> woken_;
  NoCel cel_;
  FleetStore store_{clock_, [this](const kube::ObjectKey& key) { woken_.insert(key.ToString()); }};
  FleetWatch watch_{api_, clock_, store_};
  PlacementReconcilerOptions options_;
  PlacementReconciler reconciler_{api_, clock_, store_, cel_, events_, options_};
};

TEST_F(PlacementReconcilerTest, DecidesAndThenWritesNothing) {
  CreatePlacement(R"({"numberOfClusters": 2})");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c1 c2");
  EXPECT_EQ(Condition(kPlacementSatisfied), "True AllDecisionsScheduled");
  EXPECT_EQ(Condition(kPlacementMisconfigured), "False Succeedconfigured");
  EXPECT_EQ(Status()["decisionGroups"], kube::MustParseJson(R"([{
      "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["p-decision-1"],
      "clusterCount": 2}])"));
  EXPECT_EQ(Status()["numberOfSelectedClusters"], 2);
  EXPECT_EQ(api_.CountWrites(), 3) << "create, decisions, status";
  EXPECT_EQ(events_.size(), 2u) << "DecisionCreate, ScoreUpdate";

  woken_.clear();
  kube::Drain(io_);
  EXPECT_TRUE(woken_.empty()) << "by its own writes";
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.CountWrites(), 3);
  EXPECT_EQ(events_.size(), 2u);
}

TEST_F(PlacementReconcilerTest, RepairsWhatOthersChange) {
  CreatePlacement("{}");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  Json page = *api_.GetJson(kPlacementDecisions, {"ns", "p-decision-1"});
  page["status"]["decisions"].erase(0);
  page["metadata"]["labels"]["mine"] = "stays";
  page["metadata"]["labels"].erase(std::string(kDecisionGroupIndexLabel));
  api_.UpdateJson(kPlacementDecisions, page);
  woken_.clear();
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("ns/p"));
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c1 c2 c3");
  page = *api_.GetJson(kPlacementDecisions, {"ns", "p-decision-1"});
  EXPECT_EQ(page["metadata"]["labels"].size(), 4u);
}

TEST_F(PlacementReconcilerTest, FollowsClusters) {
  CreatePlacement(R"({"numberOfClusters": 2})");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  woken_.clear();
  Taint("c1", R"([{"key": "gpu", "value": "true", "effect": "NoSelect"}])");
  EXPECT_THAT(woken_, ElementsAre("ns/p"));
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c2 c3");
  Taint("c1", "[]");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c2 c3") << "Steady";
}

// A spec that needs more than kPlacementBudget.object.
std::string LargeSpec() {
  Json names = Json::array();
  for (int i = 0; i < 20'000; ++i) names.push_back("set-" + std::to_string(i));
  return kube::DumpJson({{"clusterSets", std::move(names)}});
}

TEST_F(PlacementReconcilerTest, ATooLargeOneKeepsItsDecisionsAndSaysSo) {
  CreatePlacement(R"({"numberOfClusters": 2})");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  woken_.clear();
  SetSpec(LargeSpec());
  EXPECT_THAT(woken_, ElementsAre("ns/p"));
  EXPECT_EQ(store_.Find({"ns", "p"}), nullptr);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kPlacementMisconfigured), "True TooLarge");
  EXPECT_THAT(kube::DumpJson(Status()), HasSubstr("at most 1048576 are allowed"));
  EXPECT_EQ(Decisions(), "c1 c2");
  EXPECT_EQ(Status()["numberOfSelectedClusters"], 2);
  int writes = api_.CountWrites();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.CountWrites(), writes);

  SetSpec(R"({"numberOfClusters": 3})");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kPlacementMisconfigured), "False Succeedconfigured");
  EXPECT_EQ(Decisions(), "c1 c2 c3");
}

TEST_F(PlacementReconcilerTest, ATooLargeOneThatIsDeletedIsForgotten) {
  Start();
  CreatePlacement(LargeSpec());
  kube::Drain(io_);
  EXPECT_EQ(store_.LeftOut({"ns", "p"}), Excess::kObject);
  api_.DeleteJson(kPlacements, {"ns", "p"});
  kube::Drain(io_);
  EXPECT_EQ(store_.LeftOut({"ns", "p"}), std::nullopt);
  ASSERT_THAT(Reconcile(), IsOk());
}

// Decisions of other Placements that use up the namespace's budget.
TEST_F(PlacementReconcilerTest, WithoutRoomForItsDecisionsAPlacementKeepsThem) {
  CreatePlacement(R"({"numberOfClusters": 2})");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  PlacementDecision other{.ns = "ns", .placement = "other", .has_status = true};
  other.decisions.resize(10'000, {.cluster = "c1"});
  const size_t pages = kDecisionBudget.owner / DecisionBytes(other.decisions.size(), false);
  for (size_t i = 0; i <= pages; ++i) {
    other.name = "other-" + std::to_string(i);
    store_.PutWritten(other);
  }
  SetSpec(R"({"numberOfClusters": 3})");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kPlacementMisconfigured), "True TooLarge");
  EXPECT_EQ(Decisions(), "c1 c2");
  SetSpec(R"({"numberOfClusters": 1})");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kPlacementMisconfigured), "False Succeedconfigured");
  EXPECT_EQ(Decisions(), "c2") << "fewer need no room, and c1 has the others'";
}

TEST_F(PlacementReconcilerTest, DecisionsThatAreNotKnownAreKept) {
  CreatePlacement(R"({"numberOfClusters": 2})");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  store_.LeaveOutDecision({"ns", "p-decision-1"}, Excess::kOwner, nullptr);
  EXPECT_THAT(woken_, testing::Contains("ns/p"));
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kPlacementMisconfigured), "True TooLarge");
  EXPECT_EQ(Decisions(), "c1 c2");
}

// The decision stays as it is.
TEST_F(PlacementReconcilerTest, ExpiredScoresAreOneWarning) {
  Json score = MakeScore("c1", "multiarch", "arm64.cpu", 10);
  score["status"]["validUntil"] = kube::FormatTime(clock_.WallNow() + 5min);
  api_.CreateJson(kAddOnPlacementScores, score);
  CreatePlacement(R"({"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"type": "AddOn",
      "addOn": {"resourceName": "multiarch", "scoreName": "arm64.cpu"}}, "weight": 1}]}})");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  const size_t events = events_.size();
  clock_.Advance(6min);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(events_.size(), events + 1);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(events_.size(), events + 1) << "said already";
}

TEST_F(PlacementReconcilerTest, ADecisionThatShrinksIsAnEvent) {
  CreatePlacement("{}");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  const size_t events = events_.size();
  Taint("c2", R"([{"key": "k", "effect": "NoSelect"}])");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c1 c3");
  EXPECT_EQ(events_.size(), events + 2) << "DecisionUpdate, ScoreUpdate";
}

TEST_F(PlacementReconcilerTest, ComesBackWhenATolerationExpires) {
  CreatePlacement(
      R"({"tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 300}]})");
  Start();
  Taint("c1", R"([{"key": "gpu", "effect": "NoSelect", "timeAdded": ")" +
                  kube::FormatTime(clock_.WallNow()) + R"("}])");
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(Decisions(), "c1 c2 c3");
  EXPECT_EQ(outcome->delay(), 300s);
  clock_.Advance(300s);
  outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(Decisions(), "c2 c3");
  EXPECT_EQ(outcome->delay(), std::nullopt);
}

TEST_F(PlacementReconcilerTest, TypoEvictsNobody) {
  CreatePlacement("{}");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  SetSpec(R"({"prioritizerPolicy": {"mode": "Exakt"}})");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c1 c2 c3");
  EXPECT_EQ(Condition(kPlacementMisconfigured), "True Misconfigured");
  EXPECT_EQ(Condition(kPlacementSatisfied), "True AllDecisionsScheduled");

  PlacementReconciler as_ocm(api_, clock_, store_, cel_, events_, {.clear_misconfigured = true});
  ASSERT_THAT(kube::Run(io_, as_ocm.Reconcile({{"ns", "p"}})), IsOk());
  EXPECT_EQ(Decisions(), "");
  EXPECT_EQ(Condition(kPlacementSatisfied), "False NotAllDecisionsScheduled");
}

TEST_F(PlacementReconcilerTest, LeavesAloneWhatIsNotOurs) {
  struct Row {
    const char* disabled;
    const char* scheduler;
    bool claimed, all;
    size_t events;
  };
  const Row rows[] = {{"", "", false, true, 0},
                      {"true", "", false, false, 0},
                      {"", "multiarch", false, true, 1},
                      {"true", "multiarch", true, true, 0},
                      {"true", "another", false, false, 0},
                      {"false", "multiarch", false, true, 1}};
  Start();
  for (const Row& row : rows) {
    std::string what = std::string(row.disabled) + ", " + row.scheduler;
    MakeObject placement = MakePlacement("ns", "p");
    if (*row.disabled != 0) placement.Annotation(kSchedulingDisableAnnotation, row.disabled);
    if (*row.scheduler != 0) placement.Annotation(kSchedulerAnnotation, row.scheduler);
    for (bool all : {false, true}) {
      api_.CreateJson(kPlacements, placement);
      kube::Drain(io_);
      int before = api_.CountWrites();
      kube::EventRecorder events(api_, clock_, {.component = "test"});
      PlacementReconciler reconciler(
          api_, clock_, store_, cel_, events,
          {.placements = all ? PlacementsMode::kAll : PlacementsMode::kClaimed});
      for (int pass = 0; pass < 2; ++pass) {
        ASSERT_THAT(kube::Run(io_, reconciler.Reconcile({{"ns", "p"}})), IsOk());
        kube::Drain(io_);
      }
      EXPECT_EQ(api_.CountWrites() != before, all ? row.all : row.claimed)
          << what << (all ? " all" : "");
      size_t wanted = all ? (row.all ? 2u : 0u) : (row.claimed ? 2u : row.events);
      EXPECT_EQ(events.size(), wanted) << what << (all ? " all" : "");
      api_.DeleteJson(kPlacements, {"ns", "p"});
      for (const Json& page : api_.ListJson(kPlacementDecisions, "ns"))
        api_.DeleteJson(kPlacementDecisions, {"ns", page["metadata"]["name"]});
      kube::Drain(io_);
    }
  }
}

TEST_F(PlacementReconcilerTest, ConflictAndFailureInTheMiddleAreContinued) {
  CreatePlacement(R"({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1}}})");
  Start();
  api_.FailNext(kube::Error::Unavailable("503"), "p-decision-2/status");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable, HasSubstr("p-decision-2")));
  EXPECT_EQ(Decisions(), "c1|");
  EXPECT_EQ(Condition(kPlacementSatisfied), "") << "the status comes last";
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c1|c2|c3");

  // Another client writes between the decision and the write.
  Taint("c2", R"([{"key": "gpu", "effect": "NoSelect"}])");
  bool raced = false;
  api_.BeforeEach([&](const std::string& call) {
    if (raced || !call.starts_with("PATCH") ||
        call.find("p-decision-2/status") == std::string::npos)
      return;
    raced = true;
    api_.PatchJson(kPlacementDecisions, {"ns", "p-decision-2"},
                   {{"metadata", {{"labels", {{"mine", "stays"}}}}}});
  });
  EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_TRUE(raced);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c1|c3");
  Json page = *api_.GetJson(kPlacementDecisions, {"ns", "p-decision-2"});
  EXPECT_EQ(page["metadata"]["labels"]["mine"], "stays");
}

TEST_F(PlacementReconcilerTest, ScoresAloneAreWrittenOnceALimit) {
  auto score = [&](const std::string& cluster, int value) {
    MakeObject object = MakeScore(cluster, "r", "s", value);
    if (api_.GetJson(kAddOnPlacementScores, {cluster, "r"})) {
      api_.UpdateJson(kAddOnPlacementScores, object);
    } else {
      api_.CreateJson(kAddOnPlacementScores, object);
    }
    kube::Drain(io_);
  };
  CreatePlacement(R"({"sortBy": "Score", "scoreRateLimit": "30s", "prioritizerPolicy":
      {"mode": "Exact", "configurations": [{"scoreCoordinate":
          {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}}]}})");
  score("c2", 50);
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c2 c1 c3");
  clock_.Advance(10s);
  score("c3", 80);
  int before = api_.CountWrites();
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(api_.CountWrites(), before);
  EXPECT_EQ(outcome->delay(), 20s);
  clock_.Advance(20s);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c3 c2 c1");
  // Another set of clusters is written at once.
  Taint("c3", R"([{"key": "gpu", "effect": "NoSelect"}])");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "c2 c1");
}

TEST_F(PlacementReconcilerTest, WithoutAnAnswerOfCelDecisionsStay) {
  CreatePlacement("{}");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  SetSpec(R"({"predicates": [{"requiredClusterSelector": {"celSelector":
      {"celExpressions": ["false"]}}}]})");
  int before = api_.CountWrites();
  cel_.prepared = false;
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), kCelRetry);

  cel_.prepared = cel_.compiles = true;
  cel_.questions = 100;
  cel_.busy = true;
  outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), kCelRetry);
  EXPECT_EQ(cel_.questions, 100) << "a pass that would only be repeated";
  cel_.busy = false;
  outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), kCelRetry);
  EXPECT_EQ(cel_.questions, 100 - kMaxCelPasses);
  cel_.answer = kube::Duration(7s);
  outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 7s);
  cel_.answer = kube::Error::Unavailable("no evaluator");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable, HasSubstr("no evaluator")));
  EXPECT_EQ(api_.CountWrites(), before);

  cel_.answer = kube::Duration::zero();
  cel_.questions = 2;
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Decisions(), "");
}

TEST_F(PlacementReconcilerTest, ARefusedSelectorIsAMisconfiguration) {
  CreatePlacement("{}");
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  SetSpec(R"({"predicates": [{"requiredClusterSelector": {"celSelector":
      {"celExpressions": ["false"]}}}]})");
  cel_.compiles = true;
  cel_.refusal = "celSelector: not evaluated: it took too long";
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 10min);
  EXPECT_EQ(Decisions(), "c1 c2 c3");
  Json condition = (*api_.GetJson(kPlacements, {"ns", "p"}))["status"]["conditions"][0];
  EXPECT_EQ(condition["status"], "True");
  EXPECT_EQ(condition["message"], "Predicate:celSelector: not evaluated: it took too long");

  // Even where a misconfiguration removes decisions, because the evaluator may be its cause.
  PlacementReconciler as_ocm(api_, clock_, store_, cel_, events_, {.clear_misconfigured = true});
  ASSERT_THAT(kube::Run(io_, as_ocm.Reconcile({{"ns", "p"}})), IsOk());
  EXPECT_EQ(Decisions(), "c1 c2 c3");
}

TEST_F(PlacementReconcilerTest, BeingDeletedOrGone) {
  CreatePlacement("{}");
  api_.PatchJson(kPlacements, {"ns", "p"}, {{"metadata", {{"finalizers", {"x/y"}}}}});
  api_.DeleteJson(kPlacements, {"ns", "p"});
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  ASSERT_THAT(kube::Run(io_, reconciler_.Reconcile({{"ns", "gone"}})), IsOk());
  EXPECT_EQ(api_.CountWrites(), 0);
}

}  // namespace
}  // namespace fleet
