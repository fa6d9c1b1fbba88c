// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/leader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "fleet/api/budgets.h"
#include "fleet/cel/evaluator.h"
#include "fleet/hub/leader_metrics.h"
#include "fleet/testing/hub_fixture.h"
#include "fleet/testing/make_object.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using kube::Code;
using kube::Json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kEvaluator[] = "fleet/cel/evaluator/evaluator";

// 30 clusters of one set; two Placements "p" and "q" in "ns".
class LeaderTest : public HubFixture {
 protected:
  void SetUp() override {
    api_.CreateJson(kManagedClusterSets, MakeClusterSet("all", kSelectsAll));
    api_.CreateJson(kManagedClusterSetBindings, MakeSetBinding("ns", "all"));
    for (int i = 10; i < 40; ++i)
      api_.CreateJson(kManagedClusters, MakeManagedCluster("c" + std::to_string(i)));
    CreatePlacement("p",
                    R"({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 4}}})");
    CreatePlacement("q", R"({"numberOfClusters": 1})");
    tasks_.Spawn("leader", leader_.Run(tasks_));
    Pass(0ms);
  }

  void CreatePlacement(const std::string& name, const std::string& spec) {
    api_.CreateJson(kPlacements, MakePlacement("ns", name, spec));
  }
  void Taint(int cluster) {
    Json taints = Json::array({{{"key", "gpu"}, {"effect", "NoSelect"}}});
    api_.PatchJson(kManagedClusters, {"", "c" + std::to_string(cluster)},
                   {{"spec", {{"taints", taints}}}});
  }
  // The evaluator works in real time.
  bool Await(const std::function<bool()>& done) {
    return kube::RunUntil(io_, [&] {
      clock_.Advance(kCoalesce);
      return done();
    });
  }
  size_t Decided(const std::string& placement) { return Selected(placement).size(); }
  std::vector<std::string> Selected(const std::string& placement) {
    std::vector<std::string> clusters;
    for (const Json& page : api_.ListJson(kPlacementDecisions, "ns")) {
      if (page["metadata"]["labels"][std::string(kPlacementLabel)] != placement) continue;
      const PlacementDecision read = PlacementDecision::FromJson(page).value();
      for (const Decision& decision : read.decisions) clusters.push_back(decision.cluster);
    }
    return clusters;
  }

  cel::Evaluator evaluator_{io_.get_executor(),
                            kube::RealClock(),
                            {.program = kEvaluator, .patience = std::chrono::minutes(1)}};
  Leader* current_ = nullptr;
  Leader leader_{{current_, api_, clock_, events_, evaluator_},
                 {.reconciler = {.placements = PlacementsMode::kAll}},
                 tasks_};
};

TEST_F(LeaderTest, DecidesWhenAllWatchesAreCompleteAndThenRests) {
  ASSERT_TRUE(leader_.store().complete());
  EXPECT_EQ(Decided("p"), 0u);
  Pass(kCoalesce);
  EXPECT_EQ(Decided("p"), 30u);
  EXPECT_EQ(Decided("q"), 1u);
  size_t calls = api_.calls().size();
  for (int i = 0; i < 20; ++i) Pass(kCoalesce);
  EXPECT_EQ(api_.calls().size(), calls);
}

TEST_F(LeaderTest, ManyChangesAreOnePass) {
  Pass(kCoalesce);
  int before = api_.CountCalls(
      "PATCH /apis/cluster.open-cluster-management.io/v1beta1/"
      "namespaces/ns/placements/p/status");
  for (int i = 10; i < 20; ++i) {
    Taint(i);
    Pass(10ms);
  }
  EXPECT_EQ(Decided("p"), 30u);
  Pass(kCoalesce);
  EXPECT_EQ(Decided("p"), 20u);
  EXPECT_EQ(api_.CountCalls("PATCH /apis/cluster.open-cluster-management.io/v1beta1/"
                            "namespaces/ns/placements/p/status"),
            before + 1);
}

TEST_F(LeaderTest, SelectedClustersAreNeverMissing) {
  Pass(kCoalesce);
  // c10 to c13 go, so all others move to another page.
  bool checked = false;
  api_.BeforeEach([&](const std::string&) {
    std::vector<std::string> selected = Selected("p");
    std::set<std::string> seen(selected.begin(), selected.end());
    for (int i = 14; i < 40; ++i) EXPECT_TRUE(seen.contains("c" + std::to_string(i))) << i;
    checked = true;
  });
  for (int i : {10, 11, 12, 13}) Taint(i);
  kube::Drain(io_);
  Pass(kCoalesce);
  EXPECT_TRUE(checked);
  EXPECT_EQ(Decided("p"), 26u);
}

TEST_F(LeaderTest, CelReadsWholeObjectsAndScores) {
  auto create = [&](const std::string& name, const std::string& expression) {
    Json selector = {{"celSelector", {{"celExpressions", {expression}}}}};
    Json predicate = {{"requiredClusterSelector", selector}};
    api_.CreateJson(kPlacements,
                    MakePlacement("ns", name).Set("/spec/predicates", Json::array({predicate})));
  };
  auto annotate = [&](int cluster, const std::string& tier) {
    api_.PatchJson(kManagedClusters, {"", "c" + std::to_string(cluster)},
                   {{"metadata", {{"annotations", {{"tier", tier}}}}}});
  };
  Pass(kCoalesce);
  create("cel", "managedCluster.metadata.annotations['tier'] == 'gold'");
  create("scored", "managedCluster.scores('r').exists(s, s.value > 5)");
  annotate(11, "gold");
  ASSERT_TRUE(Await([&] { return Decided("cel") == 1; }));
  EXPECT_EQ(Decided("scored"), 0u);

  annotate(12, "gold");
  api_.CreateJson(kAddOnPlacementScores, MakeScore("c20", "r", "s", 9));
  EXPECT_TRUE(Await([&] { return Decided("cel") == 2 && Decided("scored") == 1; }));

  create("typo", "(");
  EXPECT_TRUE(Await([&] {
    return Condition(kPlacements, {"ns", "typo"}, kPlacementMisconfigured) == "True Misconfigured";
  }));
}

TEST_F(LeaderTest, CelReadsNoClusterThatIsTooLarge) {
  Pass(kCoalesce);
  Json selector = {
      {"celSelector", {{"celExpressions", {"has(managedCluster.metadata.annotations)"}}}}};
  Json predicate = {{"requiredClusterSelector", selector}};
  for (const char* cluster : {"c11", "c12"}) {
    size_t bytes = cluster == std::string("c11") ? kMaxCelClusterBytes : 10;
    api_.PatchJson(kManagedClusters, {"", cluster},
                   {{"metadata", {{"annotations", {{"a", std::string(bytes, 'a')}}}}}});
  }
  api_.CreateJson(kPlacements,
                  MakePlacement("ns", "cel").Set("/spec/predicates", Json::array({predicate})));
  ASSERT_TRUE(Await([&] { return Decided("cel") == 1; }));
  EXPECT_THAT(Selected("cel"), ElementsAre("c12"));
  kube::Result<Json> answer = kube::Run(io_, leader_.Answer({"ns", "cel"}, {}));
  ASSERT_THAT(answer, kube::IsOk());
  EXPECT_THAT(kube::DumpJson(*answer), HasSubstr("the ManagedCluster has more than 32768 bytes"));
}

TEST_F(LeaderTest, WhatIsLeftOutIsAnEventAndAMetric) {
  kube::Metrics metrics;
  AddStoreMetrics(metrics, current_);
  EXPECT_THAT(metrics.Render(), HasSubstr("mto_fleet_left_out{kind=\"AddOnPlacementScore\"} 0"));
  Pass(kCoalesce);
  const size_t events = events_.size();
  Json score = MakeScore("c20", "r", "s", 9);
  for (int i = 0; i < 400; ++i)
    score["status"]["scores"].push_back({{"name", "s" + std::to_string(i)}, {"value", i % 100}});
  api_.CreateJson(kAddOnPlacementScores, score);
  kube::Drain(io_);
  EXPECT_FALSE(leader_.store().fleet().scores.contains("c20"));
  EXPECT_EQ(events_.size(), events + 1);
  EXPECT_THAT(metrics.Render(), HasSubstr("mto_fleet_left_out{kind=\"AddOnPlacementScore\"} 1"));
}

TEST_F(LeaderTest, RolloutsFollowTheDecisions) {
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement("ns", "web", "q"));
  Pass(kCoalesce);
  Pass(kRolloutCoalesce);
  std::vector<std::string> selected = Selected("q");
  ASSERT_EQ(selected.size(), 1u);
  EXPECT_EQ(Works(), selected);
  size_t calls = api_.calls().size();
  for (int i = 0; i < 20; ++i) Pass(1s);
  EXPECT_EQ(api_.calls().size(), calls);

  Taint(std::stoi(selected[0].substr(1)));
  Pass(0ms);
  Pass(kCoalesce);
  Pass(kRolloutCoalesce);
  EXPECT_NE(Selected("q"), selected);
  EXPECT_EQ(Works(), Selected("q"));
}

TEST_F(LeaderTest, ForgedDecisionsReachNoClusterThatIsNotBound) {
  // A Placement without a scheduler; its tenant writes the decisions.
  api_.CreateJson(kManagedClusterSets, MakeClusterSet("few"));
  api_.CreateJson(kManagedClusterSetBindings, MakeSetBinding("team", "few"));
  api_.PatchJson(kManagedClusters, {"", "c10"},
                 {{"metadata", {{"labels", {{std::string(kClusterSetLabel), "few"}}}}}});
  Json placement = api_.CreateJson(
      kPlacements, MakePlacement("team", "p").Annotation(kSchedulingDisableAnnotation, "true"));
  Json owner = {{"uid", placement["metadata"]["uid"]}, {"controller", true}};
  api_.CreateJson(kPlacementDecisions,
                  MakePlacementDecision("team", "forged", "p", {"c10", "c11", "none"})
                      .Set("/metadata/ownerReferences", Json::array({owner})));
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement("team", "web", "p"));
  Pass(0ms);
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c10"));
  EXPECT_THAT(kube::DumpJson(*api_.GetJson(kFleetPodPlacements, {"team", "web"})),
              HasSubstr("ignored: 2 decisions"));

  // What a namespace reaches is looked at again when it changes.
  api_.CreateJson(kManagedClusterSetBindings, MakeSetBinding("team", "all"));
  Pass(0ms);
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c10", "c11"));
  for (const char* set : {"all", "few"}) api_.DeleteJson(kManagedClusterSetBindings, {"team", set});
  Pass(0ms);
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), IsEmpty());
}

// A hub without the CRDs of rollouts.
class LeaderWithoutRolloutsTest : public LeaderTest {
 protected:
  void SetUp() override {
    api_.FailNext(kube::Error::FromHttpStatus(404, "NotFound", "no such kind"),
                  "WATCH /apis/multiarch.openshift.io/", 1000);
    LeaderTest::SetUp();
  }
};

TEST_F(LeaderWithoutRolloutsTest, DecisionsGoOn) {
  Pass(kCoalesce);
  EXPECT_EQ(Decided("p"), 30u);
}

TEST_F(LeaderTest, AnswersAboutPlacements) {
  EXPECT_EQ(current_, &leader_);
  kube::Result<Json> answer = kube::Run(io_, leader_.Answer({"ns", "p"}, {}));
  ASSERT_THAT(answer, kube::IsOk());
  EXPECT_EQ((*answer)["aggregatedScores"].size(), 30u);
  EXPECT_THAT(kube::Run(io_, leader_.Answer({"ns", "none"}, {})), kube::FailsWith(Code::kNotFound));
}

}  // namespace
}  // namespace fleet
