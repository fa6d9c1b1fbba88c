// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/leader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <set>
#include <string>
#include <vector>

#include "fleet/cel/evaluator.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
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
class LeaderTest : public testing::Test {
 protected:
  void SetUp() override {
    Create(kManagedClusterSets, "", "all",
           R"({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}})");
    Create(kManagedClusterSetBindings, "ns", "all", R"({"clusterSet": "all"})");
    for (int i = 10; i < 40; ++i) Create(kManagedClusters, "", "c" + std::to_string(i), "{}");
    Create(kPlacements, "ns", "p",
           R"({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 4}}})");
    Create(kPlacements, "ns", "q", R"({"numberOfClusters": 1})");
    tasks_.Spawn("leader", leader_.Run(tasks_));
    Pass(0ms);
  }
  ~LeaderTest() override {
    kube::IgnoreError(kube::Run(io_, tasks_.Stop(clock_, 0s)), "the test ends");
  }

  void Create(const kube::Resource& resource, const std::string& ns, const std::string& name,
              const std::string& spec) {
    Json metadata = {{"name", name}, {"generation", 1}};
    if (!ns.empty()) metadata["namespace"] = ns;
    api_.CreateJson(resource, {{"apiVersion", resource.ApiVersion()},
                               {"kind", std::string(resource.kind)},
                               {"metadata", metadata},
                               {"spec", kube::MustParseJson(spec)}});
  }
  void Taint(int cluster, const std::string& taints) {
    Json object = *api_.GetJson(kManagedClusters, {"", "c" + std::to_string(cluster)});
    object["spec"]["taints"] = kube::MustParseJson(taints);
    api_.UpdateJson(kManagedClusters, object);
  }
  void Pass(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }
  // The evaluator works in real time.
  bool Await(const std::function<bool()>& done) {
    return kube::RunUntil(io_, [&] {
      clock_.Advance(kCoalesce);
      return done();
    });
  }
  // The clusters that have a work object.
  std::vector<std::string> Works() {
    std::vector<std::string> clusters;
    for (const Json& work : api_.ListJson(kPodPlacementWorks))
      clusters.push_back(kube::StringAt(work, "metadata.namespace"));
    return clusters;
  }
  size_t Decided(const std::string& placement) { return Selected(placement).size(); }
  std::vector<std::string> Selected(const std::string& placement) {
    std::vector<std::string> clusters;
    for (const Json& page : api_.ListJson(kPlacementDecisions, "ns")) {
      if (page["metadata"]["labels"][std::string(kPlacementLabel)] != placement) continue;
      const Json* decisions = kube::Find(page, "status.decisions");
      for (const Json& decision : decisions == nullptr ? Json::array() : *decisions)
        clusters.push_back(kube::StringAt(decision, "clusterName"));
    }
    return clusters;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  cel::Evaluator evaluator_{io_.get_executor(),
                            kube::RealClock(),
                            {.program = kEvaluator, .patience = std::chrono::minutes(1)}};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
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
    Taint(i, R"([{"key": "gpu", "effect": "NoSelect"}])");
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
    std::set<std::string> seen;
    for (const Json& page : api_.ListJson(kPlacementDecisions, "ns")) {
      if (page["metadata"]["labels"][std::string(kPlacementLabel)] != "p") continue;
      for (const Json& decision : page["status"]["decisions"])
        seen.insert(std::string(decision["clusterName"]));
    }
    for (int i = 14; i < 40; ++i) EXPECT_TRUE(seen.contains("c" + std::to_string(i))) << i;
    checked = true;
  });
  for (int i : {10, 11, 12, 13}) Taint(i, R"([{"key": "gpu", "effect": "NoSelect"}])");
  kube::Drain(io_);
  Pass(kCoalesce);
  EXPECT_TRUE(checked);
  EXPECT_EQ(Decided("p"), 26u);
}

TEST_F(LeaderTest, CelReadsWholeObjectsAndScores) {
  auto create = [&](const std::string& name, const std::string& expression) {
    Json selector = {{"celSelector", {{"celExpressions", {expression}}}}};
    Json predicate = {{"requiredClusterSelector", selector}};
    Json spec = {{"predicates", Json::array({predicate})}};
    Create(kPlacements, "ns", name, kube::DumpJson(spec));
  };
  auto annotate = [&](int cluster, const std::string& tier) {
    Json object = *api_.GetJson(kManagedClusters, {"", "c" + std::to_string(cluster)});
    object["metadata"]["annotations"]["tier"] = tier;
    api_.UpdateJson(kManagedClusters, object);
  };
  Pass(kCoalesce);
  create("cel", "managedCluster.metadata.annotations['tier'] == 'gold'");
  create("scored", "managedCluster.scores('r').exists(s, s.value > 5)");
  annotate(11, "gold");
  ASSERT_TRUE(Await([&] { return Decided("cel") == 1; }));
  EXPECT_EQ(Decided("scored"), 0u);

  annotate(12, "gold");
  Json scores = Json::array({{{"name", "s"}, {"value", 9}}});
  api_.CreateJson(kAddOnPlacementScores, {{"apiVersion", kAddOnPlacementScores.ApiVersion()},
                                          {"kind", "AddOnPlacementScore"},
                                          {"metadata", {{"name", "r"}, {"namespace", "c20"}}},
                                          {"status", {{"scores", scores}}}});
  EXPECT_TRUE(Await([&] { return Decided("cel") == 2 && Decided("scored") == 1; }));

  create("typo", "(");
  EXPECT_TRUE(Await([&] {
    Json typo = *api_.GetJson(kPlacements, {"ns", "typo"});
    const Json* conditions = kube::Find(typo, "status.conditions");
    return conditions != nullptr && conditions->at(0)["reason"] == kMisconfigured;
  }));
}

// A FleetPodPlacement "web" in `ns` of the Placement.
Json FleetOf(const std::string& ns, const std::string& placement) {
  Json reference = {{"name", placement}};
  Json config = {{"spec", {{"logVerbosity", "Normal"}}}};
  Json metadata = {{"name", "web"}, {"namespace", ns}, {"generation", 1}};
  return {
      {"apiVersion", kFleetPodPlacements.ApiVersion()},
      {"kind", "FleetPodPlacement"},
      {"metadata", metadata},
      {"spec", {{"placements", Json::array({reference})}, {"clusterPodPlacementConfig", config}}}};
}

TEST_F(LeaderTest, RolloutsFollowTheDecisions) {
  api_.CreateJson(kFleetPodPlacements, FleetOf("ns", "q"));
  Pass(kCoalesce);
  Pass(kRolloutCoalesce);
  std::vector<std::string> selected = Selected("q");
  ASSERT_EQ(selected.size(), 1u);
  EXPECT_EQ(Works(), selected);
  size_t calls = api_.calls().size();
  for (int i = 0; i < 20; ++i) Pass(1s);
  EXPECT_EQ(api_.calls().size(), calls);

  Taint(std::stoi(selected[0].substr(1)), R"([{"key": "gpu", "effect": "NoSelect"}])");
  Pass(0ms);
  Pass(kCoalesce);
  Pass(kRolloutCoalesce);
  EXPECT_NE(Selected("q"), selected);
  EXPECT_EQ(Works(), Selected("q"));
}

TEST_F(LeaderTest, ForgedDecisionsReachNoClusterThatIsNotBound) {
  // A Placement without a scheduler; its tenant writes the decisions.
  Create(kManagedClusterSets, "", "few", "{}");
  Create(kManagedClusterSetBindings, "team", "few", R"({"clusterSet": "few"})");
  Json cluster = *api_.GetJson(kManagedClusters, {"", "c10"});
  cluster["metadata"]["labels"][std::string(kClusterSetLabel)] = "few";
  api_.UpdateJson(kManagedClusters, cluster);
  Json annotations = {{std::string(kSchedulingDisableAnnotation), "true"}};
  Json metadata = {
      {"name", "p"}, {"namespace", "team"}, {"generation", 1}, {"annotations", annotations}};
  Json placement = api_.CreateJson(kPlacements, {{"apiVersion", kPlacements.ApiVersion()},
                                                 {"kind", "Placement"},
                                                 {"metadata", metadata},
                                                 {"spec", Json::object()}});
  Json owner = {{"uid", placement["metadata"]["uid"]}, {"controller", true}};
  Json labels = {{std::string(kPlacementLabel), "p"}};
  metadata = {{"name", "forged"},
              {"namespace", "team"},
              {"labels", labels},
              {"ownerReferences", Json::array({owner})}};
  Json decisions = DecisionsToJson({{"c10"}, {"c11"}, {"none"}});
  api_.CreateJson(kPlacementDecisions, {{"apiVersion", kPlacementDecisions.ApiVersion()},
                                        {"kind", "PlacementDecision"},
                                        {"metadata", metadata},
                                        {"status", {{"decisions", decisions}}}});
  api_.CreateJson(kFleetPodPlacements, FleetOf("team", "p"));
  Pass(0ms);
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c10"));
  EXPECT_THAT(kube::DumpJson(*api_.GetJson(kFleetPodPlacements, {"team", "web"})),
              HasSubstr("ignored: 2 decisions"));

  // What a namespace reaches is looked at again when it changes.
  Create(kManagedClusterSetBindings, "team", "all", R"({"clusterSet": "all"})");
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
