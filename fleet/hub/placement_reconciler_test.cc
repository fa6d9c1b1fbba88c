// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <set>
#include <string>
#include <vector>

#include "fleet/hub/fleet_watch.h"
#include "fleet/hub/testing/no_cel.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
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
class PlacementReconcilerTest : public testing::Test {
 protected:
  void SetUp() override {
    Create(kManagedClusterSets, "", "all",
           R"({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}})");
    Create(kManagedClusterSetBindings, "ns", "all", R"({"clusterSet": "all"})");
    for (const char* name : {"c1", "c2", "c3"}) Create(kManagedClusters, "", name, "{}");
  }
  ~PlacementReconcilerTest() override {
    kube::IgnoreError(kube::Run(io_, tasks_.Stop(clock_, 0s)), "the test ends");
  }

  void Create(const kube::Resource& resource, const std::string& ns, const std::string& name,
              const std::string& spec, Json annotations = Json::object()) {
    Json metadata = {{"name", name}, {"annotations", annotations}, {"generation", 1}};
    if (!ns.empty()) metadata["namespace"] = ns;
    api_.CreateJson(resource, {{"apiVersion", resource.ApiVersion()},
                               {"kind", std::string(resource.kind)},
                               {"metadata", metadata},
                               {"spec", kube::MustParseJson(spec)}});
  }
  // A Placement "p" of this hub.
  void CreatePlacement(const std::string& spec) {
    Create(kPlacements, "ns", "p", spec,
           {{std::string(kSchedulingDisableAnnotation), "true"},
            {std::string(kSchedulerAnnotation), "multiarch"}});
  }
  void SetSpec(const std::string& spec) {
    Json placement = *api_.GetJson(kPlacements, {"ns", "p"});
    placement["spec"] = kube::MustParseJson(spec);
    placement["metadata"]["generation"] = int(placement["metadata"]["generation"]) + 1;
    api_.UpdateJson(kPlacements, placement);
    kube::Drain(io_);
  }
  void Taint(const std::string& cluster, const std::string& taints) {
    Json object = *api_.GetJson(kManagedClusters, {"", cluster});
    object["spec"]["taints"] = kube::MustParseJson(taints);
    api_.UpdateJson(kManagedClusters, object);
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
      const Json* decisions = kube::Find(page, "status.decisions");
      if (decisions == nullptr) continue;
      for (size_t i = 0; i < decisions->size(); ++i)
        text += (i == 0 ? "" : " ") + std::string((*decisions)[i]["clusterName"]);
    }
    return text;
  }
  Json Status() {
    return (*api_.GetJson(kPlacements, {"ns", "p"})).value("status", Json::object());
  }
  // "True AllDecisionsScheduled"; "" if there is none.
  std::string Condition(std::string_view type) {
    for (const Json& condition : Status().value("conditions", Json::array())) {
      if (condition["type"] == type)
        return std::string(condition["status"]) + " " + std::string(condition["reason"]);
    }
    return "";
  }
  size_t Writes() {
    size_t writes = 0;
    for (const std::string& call : api_.calls())
      writes += !call.starts_with("WATCH") && !call.starts_with("GET");
    return writes;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  std::set<std::string> woken_;
  NoCel cel_;
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
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
  EXPECT_EQ(Writes(), 3u) << "create, decisions, status";
  EXPECT_EQ(events_.size(), 2u) << "DecisionCreate, ScoreUpdate";

  woken_.clear();
  kube::Drain(io_);
  EXPECT_TRUE(woken_.empty()) << "by its own writes";
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Writes(), 3u);
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
    Json annotations = Json::object();
    if (*row.disabled != 0) annotations[std::string(kSchedulingDisableAnnotation)] = row.disabled;
    if (*row.scheduler != 0) annotations[std::string(kSchedulerAnnotation)] = row.scheduler;
    for (bool all : {false, true}) {
      Create(kPlacements, "ns", "p", "{}", annotations);
      kube::Drain(io_);
      size_t before = Writes();
      kube::EventRecorder events(api_, clock_, {.component = "test"});
      PlacementReconciler reconciler(
          api_, clock_, store_, cel_, events,
          {.placements = all ? PlacementsMode::kAll : PlacementsMode::kClaimed});
      for (int pass = 0; pass < 2; ++pass) {
        ASSERT_THAT(kube::Run(io_, reconciler.Reconcile({{"ns", "p"}})), IsOk());
        kube::Drain(io_);
      }
      EXPECT_EQ(Writes() != before, all ? row.all : row.claimed) << what << (all ? " all" : "");
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
    Json page = *api_.GetJson(kPlacementDecisions, {"ns", "p-decision-2"});
    page["metadata"]["labels"]["mine"] = "stays";
    api_.UpdateJson(kPlacementDecisions, page);
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
    Json object = {{"apiVersion", kAddOnPlacementScores.ApiVersion()},
                   {"kind", "AddOnPlacementScore"},
                   {"metadata", {{"name", "r"}, {"namespace", cluster}}},
                   {"status", {{"scores", {{{"name", "s"}, {"value", value}}}}}}};
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
  size_t before = Writes();
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(Writes(), before);
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
  size_t before = Writes();
  cel_.prepared = false;
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), kCelRetry);

  cel_.prepared = cel_.compiles = true;
  cel_.questions = 100;
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
  EXPECT_EQ(Writes(), before);

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
  Json placement = *api_.GetJson(kPlacements, {"ns", "p"});
  placement["metadata"]["finalizers"] = {"x/y"};
  api_.UpdateJson(kPlacements, placement);
  api_.DeleteJson(kPlacements, {"ns", "p"});
  Start();
  ASSERT_THAT(Reconcile(), IsOk());
  ASSERT_THAT(kube::Run(io_, reconciler_.Reconcile({{"ns", "gone"}})), IsOk());
  EXPECT_EQ(Writes(), 0u);
}

}  // namespace
}  // namespace fleet
