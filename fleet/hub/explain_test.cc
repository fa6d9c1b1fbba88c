// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "fleet/hub/testing/no_cel.h"
#include "fleet/testing/make_object.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::Json;
using kube::Result;

class ExplainTest : public testing::Test {
 protected:
  void SetUp() override {
    store_.Put(MakeClusterSet("all", kSelectsAll).As<ManagedClusterSet>());
    store_.Put(MakeSetBinding("ns", "all").As<ManagedClusterSetBinding>());
    store_.Put(MakeManagedCluster("c1").Label("zone", "a").As<ManagedCluster>());
    store_.Put(MakeManagedCluster("c2").Label("zone", "b").As<ManagedCluster>());
    Json gpu = {{"key", "gpu"}, {"effect", "NoSelect"}};
    store_.Put(MakeManagedCluster("c3")
                   .Label("zone", "a")
                   .Set("/spec/taints", Json::array({gpu}))
                   .As<ManagedCluster>());
    constexpr char kOfZoneA[] = R"({"predicates": [{"requiredClusterSelector": {"labelSelector":
        {"matchLabels": {"zone": "a"}}}}]})";
    store_.Put(MakePlacement("ns", "p", kOfZoneA).Set("/metadata/generation", 4).As<Placement>());
    store_.WakeAll();
  }

  Result<Json> Ask(const std::string& name, const char* simulated = nullptr) {
    return Ask(store_, name, simulated);
  }
  Result<Json> Ask(const FleetStore& store, const std::string& name, const char* simulated) {
    std::optional<Json> body;
    if (simulated != nullptr) body = kube::MustParseJson(simulated);
    return kube::Run(io_, Explain(store, cel_, clock_, {}, {"ns", name}, std::move(body)));
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  NoCel cel_;
  FleetStore store_{clock_, [](const kube::ObjectKey&) {}};
};

TEST_F(ExplainTest, SaysWhyEachClusterIsInOrOut) {
  Json answer = Ask("p").value();
  for (Json& rejected : answer["rejected"]) {
    EXPECT_FALSE(std::string(rejected["why"]).empty());
    rejected.erase("why");
  }
  EXPECT_EQ(answer, kube::MustParseJson(R"({
      "placement": {"apiVersion": "cluster.open-cluster-management.io/v1beta1",
                    "kind": "Placement",
                    "metadata": {"namespace": "ns", "name": "p", "generation": 4}},
      "filteredPipelineResults": [
          {"name": "Predicate", "filteredClusters": ["c1", "c3"]},
          {"name": "Predicate,TaintToleration", "filteredClusters": ["c1"]}],
      "prioritizeResults": [
          {"name": "Balance", "weight": 1, "scores": {"c1": 100}},
          {"name": "Steady", "weight": 1, "scores": {"c1": 0}}],
      "aggregatedScores": [{"clusterName": "c1", "score": 100}],
      "rejected": [{"clusterName": "c2", "by": "Predicate"},
                   {"clusterName": "c3", "by": "TaintToleration"}]})"));
}

TEST_F(ExplainTest, SimulatesWithTheDecisionsThatAreThere) {
  store_.Put(PlacementDecision{
      .ns = "ns", .name = "p-decision-1", .placement = "p", .decisions = {{"c2"}}});
  Json answer = Ask("p", R"({"spec": {"numberOfClusters": 1}})").value();
  EXPECT_EQ(answer["aggregatedScores"], kube::MustParseJson(R"([{"clusterName": "c2", "score": 200},
                            {"clusterName": "c1", "score": 100}])"));
  EXPECT_EQ(Ask("new", R"({"kind": "Placement", "spec": {}})").value()["placement"]["metadata"],
            kube::MustParseJson(R"({"namespace": "ns", "name": "new", "generation": 0})"));
}

TEST_F(ExplainTest, Failures) {
  EXPECT_THAT(Ask("none"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Ask("p", R"({"kind": "Pod", "spec": {}})"), FailsWith(Code::kInvalid));
  EXPECT_THAT(Ask("p", R"({"apiVersion": "x/v1", "spec": {}})"), FailsWith(Code::kInvalid));
  EXPECT_THAT(Ask("p", R"({"kind": "Placement"})"), FailsWith(Code::kInvalid));
  Json answer = Ask("p", R"({"spec": {"numberOfClusters": -1}})").value();
  EXPECT_THAT(std::string(answer["error"]), testing::HasSubstr(":"));
  EXPECT_FALSE(answer.contains("rejected"));

  FleetStore empty(clock_, [](const kube::ObjectKey&) {});
  EXPECT_THAT(Ask(empty, "p", nullptr), FailsWith(Code::kUnavailable));
}

TEST_F(ExplainTest, WaitsForCel) {
  constexpr char kCel[] = R"({"spec": {"predicates": [{"requiredClusterSelector": {"celSelector":
      {"celExpressions": ["true"]}}}]}})";
  cel_.compiles = true;
  cel_.questions = 2;
  ASSERT_THAT(Ask("p", kCel), kube::IsOk());
  EXPECT_EQ(cel_.questions, 0);
  cel_.questions = 100;
  EXPECT_THAT(Ask("p", kCel), FailsWith(Code::kUnavailable));
  cel_.answer = std::chrono::seconds(5);
  EXPECT_THAT(Ask("p", kCel), FailsWith(Code::kUnavailable, testing::HasSubstr("time for CEL")));
  cel_.answer = kube::Error::Unavailable("no evaluator");
  EXPECT_THAT(Ask("p", kCel), FailsWith(Code::kUnavailable, testing::HasSubstr("no evaluator")));
  cel_.refusal = "it took too long";
  EXPECT_THAT(Ask("p", kCel), FailsWith(Code::kUnavailable, testing::HasSubstr("too long")));
  cel_.prepared = false;
  EXPECT_THAT(Ask("p", kCel), FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace fleet
